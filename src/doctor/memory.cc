#include "doctor/memory.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "base/units.h"
#include "doctor/text_file.h"

namespace sennit::doctor {

namespace {

namespace fs = std::filesystem;

/// Returns the number after a word at the start of a line ("MemAvailable:", "inactive_file"); 0 where there is none.
std::uint64_t after(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::uint64_t value = 0;
    if (words >> first >> value && first == word) return value;
  }
  return 0;
}

/// This process's control group in a hierarchy of /proc/self/cgroup: "" for the second version, "memory" for the
/// first.
std::string group_path(const std::string& groups, const std::string& hierarchy) {
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t one = line.find(':');
    const std::size_t two = line.find(':', one + 1);
    if (one == std::string::npos || two == std::string::npos) continue;
    if (line.substr(one + 1, two - one - 1) == hierarchy) return line.substr(two + 1);
  }
  return {};
}

struct Names {
  const char* limit;
  const char* used;
  const char* droppable;
};

/// Looks at `group` and every group above it, up to the mount point; the tightest limit wins.
void read_groups(MemoryReadings& readings, const fs::path& mount, const std::string& group, const Names& names) {
  fs::path folder = mount / fs::path(group).relative_path();
  for (;;) {
    const auto limit = read_number(folder / names.limit);
    const auto used = read_number(folder / names.used);
    // The first version writes "no limit" as a number near 2^63.
    if (limit && used && *limit >= 0 && *limit < (1ll << 60)) {
      const std::uint64_t droppable = after(read_text(folder / "memory.stat").value_or(""), names.droppable);
      const std::uint64_t held = std::uint64_t(*used) - std::min(std::uint64_t(*used), droppable);
      if (!readings.group_limit || std::uint64_t(*limit) - std::min(std::uint64_t(*limit), held) <
                                       *readings.group_limit - std::min(*readings.group_limit, readings.group_used)) {
        readings.group_limit = std::uint64_t(*limit);
        readings.group_used = held;
      }
    }
    if (folder == mount || !folder.has_relative_path()) return;
    folder = folder.parent_path();
  }
}

}  // namespace

MemoryReadings read_memory(const fs::path& root) {
  MemoryReadings readings;
  readings.available = after(read_text(root / "proc/meminfo").value_or(""), "MemAvailable:") * KiB;
  const std::string groups = read_text(root / "proc/self/cgroup").value_or("");
  read_groups(readings, root / "sys/fs/cgroup", group_path(groups, ""),
              {"memory.max", "memory.current", "inactive_file"});
  read_groups(readings, root / "sys/fs/cgroup/memory", group_path(groups, "memory"),
              {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"});
  return readings;
}

Check judge_memory(const MemoryReadings& readings, std::uint64_t wanted) {
  const Subject subject{"memory", "Host memory"};
  if (readings.available == 0) return not_applicable(subject, "The kernel does not say how much memory is free");
  std::uint64_t left = readings.available;
  std::string bound = "free";
  if (readings.group_limit) {
    const std::uint64_t in_group = *readings.group_limit - std::min(*readings.group_limit, readings.group_used);
    if (in_group < left) {
      left = in_group;
      bound = fmt::format("left below the control group's limit of {}", format_bytes(*readings.group_limit));
    }
  }
  if (left >= wanted)
    return works(subject, fmt::format("{} {}; a job's staging takes at most {}", format_bytes(left), bound,
                                      format_bytes(wanted)));
  return degraded(
      subject,
      fmt::format("Only {} {}; a job's staging may take {}", format_bytes(left), bound, format_bytes(wanted)),
      readings.group_limit && bound != "free"
          ? "Ask for more memory (srun --mem=0, docker run --memory=…), or lower SENNIT_STAGING"
          : "End other programs, or lower SENNIT_STAGING");
}

}  // namespace sennit::doctor
