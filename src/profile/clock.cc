#include "profile/clock.h"

#include <time.h>

#include <fstream>
#include <limits>
#include <string>

namespace sennit::profile {

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

Clock Clock::best() {
#if defined(__x86_64__)
  // The kernel takes it only where it never stops and is the same on all processors, also of a virtual machine.
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  if (file >> source && source == "tsc") return Clock(true);
#endif
  return monotonic();
}

Clock::Moment Clock::moment() const {
  Moment best;
  if (!counts_cycles_) {
    best.ticks = best.ns = now_ns();
    return best;
  }
  // The thread may lose its processor between two looks: of some pairs the one that took least is the moment.
  constexpr int kTries = 16;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t first_ns = 0, last_ns = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = now(), ns = now_ns(), after = now();
    if (i == 0) first_ns = ns;
    last_ns = ns;
    if (after - before >= least) continue;
    least = after - before;
    best.ticks = before + least / 2;
    best.ns = ns;
  }
  // A pair takes longer than its two looks at the counter are apart.
  best.error_ns = (last_ns - first_ns) / (kTries - 1);
  return best;
}

}  // namespace sennit::profile
