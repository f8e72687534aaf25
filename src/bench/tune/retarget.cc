#include "bench/tune/retarget.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "path/split.h"

namespace sennit::bench::tune {

bool alike(const machine::Machine& machine, const std::string& from, const std::string& to,
           const std::string& other_from, const std::string& other_to) {
  const auto one = path::candidates(machine, from, to, 64 * MiB);
  const auto other = path::candidates(machine, other_from, other_to, 64 * MiB);
  if (!one.ok() || !other.ok() || one->size() != other->size()) return false;
  const auto direct_rate = [](const std::vector<path::Candidate>& all) {
    const auto direct = std::ranges::find_if(all, [](const auto& candidate) { return candidate.route.direct(); });
    return direct == all.end() ? 0.0 : direct->rate_gbps;
  };
  const double a = direct_rate(*one), b = direct_rate(*other);
  return a > 0 && std::abs(a - b) <= 0.05 * a;
}

path::TunedPut retarget(const path::TunedPut& entry, const std::string& from, const std::string& to,
                        const std::vector<std::string>& gpus) {
  path::TunedPut moved = entry;
  moved.from = from;
  moved.to = to;
  std::vector<std::string> free;
  for (const std::string& gpu : gpus)
    if (gpu != from && gpu != to) free.push_back(gpu);
  std::size_t next = 0;
  for (auto& [route, share] : moved.shares) {
    const std::string stage = route.substr(0, route.find(' '));
    if (std::ranges::find(gpus, stage) == gpus.end() || next >= free.size()) continue;
    route = free[next++] + route.substr(stage.size());
  }
  return moved;
}

}  // namespace sennit::bench::tune
