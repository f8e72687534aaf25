// Many nodes: ranks to nodes first, so that as little as possible is sent between nodes, then each node by itself.
#pragma once

#include "place/search.h"

namespace sennit::place {

/// A map of any size. The cost of a map of so many slots is reckoned by cost_of() below. Errors: as
/// Problem::create().
Result<Map> map_by_nodes(const Traffic& traffic, const DeviceGraph& graph, const Slots& slots, Metric metric,
                         std::span<const Pin> pins = {});

/// The node of each rank (those made up included), given as many nodes as `slots` has; less is sent between nodes
/// than with rank r on slot r, or as much. Ranks of `locked` stay on that node; -1: any.
std::vector<int> divide(const Traffic& traffic, const Slots& slots, std::span<const int> locked);

/// Bytes between nodes.
double bytes_between(const Traffic& traffic, const Slots& slots, const Map& map);

/// What a map costs: always the heaviest load, whatever the metric, and the metric's sum.
Cost cost_of(const Traffic& traffic, const DeviceGraph& graph, const Slots& slots, Metric metric, const Map& map);

}  // namespace sennit::place
