// Says how often each variant of a case is timed. Pure.
#pragma once

#include <cstdint>

namespace sennit::bench::put {

/// The variants of a case take turns: `rounds` times, each times its window `batch` times, after one that does not
/// count. So a drift of clocks or of other traffic meets all of them alike.
struct Schedule {
  int rounds = 1;
  int batch = 1;

  int samples() const { return rounds * batch; }
  bool operator==(const Schedule&) const = default;
};

/// Plans as many samples as `seconds` allow when one window takes `window_us`, within limits: at least 51 (up to 1
/// MiB) or 11 (above), unless those took more than four times as long as asked, and at least 5 in any case; at most
/// 505 or 105, beyond which medians no longer change.
Schedule plan_samples(std::uint64_t bytes, double window_us, double seconds);

}  // namespace sennit::bench::put
