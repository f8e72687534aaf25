#include "bench/put/schedule.h"

#include <algorithm>

#include "base/units.h"

namespace sennit::bench::put {

Schedule plan_samples(std::uint64_t bytes, double window_us, double seconds) {
  constexpr int kRounds = 5;
  const bool small = bytes <= MiB;
  const double affordable = seconds * 1e6 / std::max(window_us, 0.1);
  const double fewest = std::clamp(4 * affordable, double(kRounds), small ? 51.0 : 11.0);
  const int samples = int(std::clamp(affordable, fewest, small ? 505.0 : 105.0));
  return {kRounds, (samples + kRounds - 1) / kRounds};
}

}  // namespace sennit::bench::put
