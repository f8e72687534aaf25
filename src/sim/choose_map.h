// Says with which of several maps a program would be fastest: the simulator speaks last, not a metric.
#pragma once

#include <vector>

#include "place/cost.h"
#include "place/device_graph.h"
#include "sim/exchange.h"

namespace sennit::sim {

/// default: how far off a prediction of an exchange may be. Below it a map is not advised. Collectives on two and
/// four H200s, replayed, are off by 5 % in the median (docs/tune/reproduction.md).
inline constexpr double kModelError = 0.05;

/// Limit: so many messages are simulated in a second. An exchange of more takes as long as its most loaded link.
inline constexpr std::size_t kMostSimulated = 30000;

struct ChosenMap {
  std::size_t index = 0;   ///< the fastest of the maps; of those alike the first
  std::vector<double> us;  ///< of an exchange with each map
  Played before, after;    ///< with rank r on slot r, and with the fastest
  /// Whether the fastest is faster than `before` by more than kModelError.
  bool is_advised() const { return after.us < (1 - kModelError) * before.us; }
};

/// The places of the ranks of a map, as Fabric::place.
std::vector<int> places_of(const Fabric& fabric, const place::DeviceGraph& graph, const place::Slots& slots,
                           const place::Map& map, int ranks);

/// Errors: as exchange().
Result<ChosenMap> choose_map(const Fabric& fabric, const place::DeviceGraph& graph, const place::Slots& slots,
                             const place::Traffic& traffic, const place::Map& before,
                             const std::vector<place::Found>& maps, const ExchangeCosts& costs = {});

}  // namespace sennit::sim
