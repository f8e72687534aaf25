#include "base/processors.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <system_error>

namespace sennit {

std::vector<int> parse_processors(std::string_view text) {
  constexpr int kMost = 1 << 16;  // limit: the text may be anything
  std::vector<int> list;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const char* const end = part.data() + part.size();
    int first = -1;
    const auto [rest, error] = std::from_chars(part.data(), end, first);
    if (error != std::errc{} || first < 0) continue;
    int last = first;
    if (rest != end && *rest == '-' && std::from_chars(rest + 1, end, last).ec != std::errc{}) continue;
    for (int each = first; each <= last && each < kMost; ++each) list.push_back(each);
  }
  return list;
}

std::vector<int> allowed_processors() {
  // Large enough for any machine there is; a smaller set than the kernel's would be refused.
  constexpr int kMost = 1 << 14;
  std::vector<int> processors;
  cpu_set_t* const set = CPU_ALLOC(kMost);
  if (set == nullptr) return processors;
  const std::size_t bytes = CPU_ALLOC_SIZE(kMost);
  CPU_ZERO_S(bytes, set);
  if (sched_getaffinity(0, bytes, set) == 0)
    for (int each = 0; each < kMost; ++each)
      if (CPU_ISSET_S(each, bytes, set)) processors.push_back(each);
  CPU_FREE(set);
  return processors;
}

std::vector<int> bound_nodes(std::span<const int> allowed, const std::filesystem::path& root) {
  std::vector<int> nodes;
  bool others = false;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root / "sys/devices/system/node", error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node")) continue;
    const std::vector<int> number = parse_processors(std::string_view(name).substr(4));
    std::string line;
    std::ifstream file(entry.path() / "cpulist");
    std::getline(file, line);
    const std::vector<int> processors = parse_processors(line);
    if (number.size() != 1 || processors.empty()) continue;
    const auto is_here = [&](int each) { return std::ranges::find(processors, each) != processors.end(); };
    if (std::ranges::any_of(allowed, is_here))
      nodes.push_back(number.front());
    else
      others = true;
  }
  std::ranges::sort(nodes);
  return others ? nodes : std::vector<int>();
}

}  // namespace sennit
