// The clocks of a job's hosts, put side by side by the calls in which all ranks wait for all: such a call ends on no
// rank before it has begun on every one. No message is sent for it, so it also holds where only some processes of a
// job are profiled. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
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

/// The clocks of a job's hosts. Ranks are added one after the other, compared, and then turned in any order.
class HostClocks {
 public:
  /// Looks at a rank's calls in which all ranks wait for all.
  void add(const Rank& rank);
  /// Compares all hosts with `first`, when all ranks were added.
  void compare(const std::string& first);
  /// Puts all times of a rank whose host shares calls with the first one on that one's clock. The rank then has
  /// Rank::clock of that host, and what is known of the error in Rank::clock_error_ns. Another rank keeps its own
  /// clock.
  void align(Rank& rank) const;
  /// Returns whether no rank was added.
  bool empty() const { return hosts_.empty(); }

 private:
  /// A call on one host: the last begin and the first end of its ranks.
  struct OnHost {
    std::uint64_t begin = 0, end = ~std::uint64_t{0};
  };
  /// By communicator and number, then by host.
  using SharedCalls = std::map<std::pair<std::uint64_t, std::uint32_t>, std::map<std::string, OnHost>>;
  static HostClock compare(const SharedCalls& shared, const std::string& first, const std::string& other);

  std::string first_;
  std::set<std::string> hosts_;
  SharedCalls shared_;
  std::map<std::string, HostClock> clocks_;  ///< of other hosts than the first
};

}  // namespace sennit::profile
