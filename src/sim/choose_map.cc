#include "sim/choose_map.h"

#include "place/nodes.h"

namespace sennit::sim {

std::vector<int> places_of(const Fabric& fabric, const place::DeviceGraph& graph, const place::Slots& slots,
                           const place::Map& map, int ranks) {
  std::vector<int> places;
  for (int rank = 0; rank < ranks; ++rank) {
    const int slot = map[std::size_t(rank)];
    places.push_back(fabric.place(slots.node(slot), graph.device(slots.gpu(slot))));
  }
  return places;
}

Result<ChosenMap> choose_map(const Fabric& fabric, const place::DeviceGraph& graph, const place::Slots& slots,
                             const place::Traffic& traffic, const place::Map& before,
                             const std::vector<place::Found>& maps, const ExchangeCosts& costs) {
  const auto run = [&](const place::Map& map) -> Result<Played> {
    if (traffic.talks().size() > kMostSimulated) {
      Played estimated;
      estimated.us = place::cost_of(traffic, graph, slots, place::Metric::contention, map).heaviest_us;
      return estimated;
    }
    return exchange(fabric, traffic.talks(), places_of(fabric, graph, slots, map, traffic.ranks()), costs);
  };
  ChosenMap chosen;
  auto now = run(before);
  if (!now) return now.status();
  chosen.before = std::move(*now);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    auto each = run(maps[i].map);
    if (!each) return each.status();
    chosen.us.push_back(each->us);
    if (i != 0 && !place::less(each->us, chosen.after.us)) continue;
    chosen.index = i;
    chosen.after = std::move(*each);
  }
  return chosen;
}

}  // namespace sennit::sim
