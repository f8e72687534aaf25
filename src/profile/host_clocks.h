// The clocks of a job's hosts, put side by side by the calls in which all ranks wait for all: such a call ends on no
// rank before it has begun on every one. No message is sent for it, so it also holds where only some processes of a
// job are profiled. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/rank.h"

namespace sennit::profile {

/// A host's clock is ahead of another one by so much, at a time of its own.
struct Offset {
  std::uint64_t ns = 0;  ///< of the host's clock
  std::int64_t ahead = 0;
  std::uint64_t error = 0;  ///< most by which `ahead` is wrong, at this time
};

/// A host's clock, as far as comparisons with another one tell.
struct HostClock {
  std::vector<Offset> known;  ///< when it was compared, in order; `ahead` is without what it gains steadily
  double gain = 0;            ///< ns that it gains in each, from the first comparison on
  double drift = 0;           ///< most that it moves besides, between comparisons and around them, in each ns

  /// Between comparisons, and around them. `known` is not empty.
  Offset at(std::uint64_t ns) const;
};

/// Puts all times of ranks that share calls with the first rank's host on that host's clock. Each rank then has
/// Rank::clock of that host, and what is known of the error in Rank::clock_error_ns. Ranks without such calls keep
/// their own clocks.
void align_clocks(std::vector<Rank>& ranks);

}  // namespace sennit::profile
