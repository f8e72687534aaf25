#include "profile/overlap.h"

#include <algorithm>

namespace sennit::profile {

void Overlap::add(std::uint32_t device, Kind kind, std::uint64_t begin, std::uint64_t end) {
  Device& on = devices_[device];
  begin = std::max(begin, on.folded);
  if (begin < end) on.of[static_cast<std::size_t>(kind)].push_back({begin, end});
}

std::vector<Overlap::Interval> Overlap::cut(std::vector<Interval>& all, std::uint64_t time) {
  std::ranges::sort(all, {}, &Interval::begin);
  std::vector<Interval> before, after;
  for (const Interval& one : all) {
    if (one.end > time) after.push_back({std::max(one.begin, time), one.end});
    if (one.begin >= time) continue;
    const std::uint64_t end = std::min(one.end, time);
    if (!before.empty() && one.begin <= before.back().end)
      before.back().end = std::max(before.back().end, end);
    else
      before.push_back({one.begin, end});
  }
  all = std::move(after);
  return before;
}

void Overlap::fold(std::uint64_t time) {
  for (auto& [number, device] : devices_) {
    const auto communication = cut(device.of[0], time), computation = cut(device.of[1], time);
    device.folded = std::max(device.folded, time);
    for (const Interval& one : communication) totals_.communication += one.end - one.begin;
    for (const Interval& one : computation) totals_.computation += one.end - one.begin;
    for (auto here = communication.begin(), there = computation.begin();
         here != communication.end() && there != computation.end();) {
      const std::uint64_t begin = std::max(here->begin, there->begin), end = std::min(here->end, there->end);
      if (begin < end) totals_.both += end - begin;
      if (here->end < there->end)
        ++here;
      else
        ++there;
    }
  }
}

}  // namespace sennit::profile
