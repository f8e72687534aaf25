#include "shim/map_check.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "base/environment.h"

namespace sennit::shim {

namespace {

constexpr std::size_t kNamed = 4;  // a default: so many ranks are named, as they mostly differ for one reason

std::string said_of(const GpuOfRank& one, std::string_view unknown) {
  if (one.asked.empty()) return "is not in the map";
  if (one.used.empty()) return std::string(unknown);
  return fmt::format("uses {}, and the map says {}", one.used, one.asked);
}

}  // namespace

std::vector<std::string> asked_gpus() {
  std::vector<std::string> uuids;
  std::istringstream list(environment("SENNIT_MAP"));
  for (std::string each; std::getline(list, each, ',');) uuids.push_back(each);
  return uuids;
}

std::string judge_map(std::span<const GpuOfRank> ranks, std::string_view unknown) {
  const auto is_as_asked = [](const GpuOfRank& one) { return !one.asked.empty() && one.used == one.asked; };
  const auto right = static_cast<std::size_t>(std::ranges::count_if(ranks, is_as_asked));
  std::string text = fmt::format("map: {} of {} ranks as asked", right, ranks.size());
  std::size_t named = 0;
  bool uses_another = false;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (is_as_asked(ranks[rank])) continue;
    uses_another = uses_another || (!ranks[rank].asked.empty() && !ranks[rank].used.empty());
    if (named++ < kNamed) text += fmt::format("; rank {} {}", rank, said_of(ranks[rank], unknown));
  }
  if (named > kNamed) text += fmt::format("; and {} more", named - kNamed);
  if (uses_another)
    text +=
        ". The program takes its GPU by another rule than its local rank: let it take that one, or show each rank "
        "its own alone, mpirun … sennit run --map FILE --gpu-per-rank ./program";
  return text;
}

}  // namespace sennit::shim
