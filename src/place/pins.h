// Ranks that have to stay: where the user says so, and on the socket that their launcher bound them to.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "place/device_graph.h"
#include "place/problem.h"
#include "place/read_traffic.h"

namespace sennit::place {

/// Reads "3=gpu1", "3=2/gpu1" (on node 2), "0-7=host0" (any GPU of that socket). Of several ranks on a GPU each takes
/// a place of its own. Errors: invalid_argument.
Result<std::vector<Pin>> pins_of(const std::vector<std::string>& texts, const DeviceGraph& graph, const Slots& slots);

struct SocketPins {
  std::vector<Pin> pins;
  std::string words;  ///< "16 of 16 ranks stay on the socket that their launcher bound them to"
};

/// Pins of the ranks that a launcher has bound to NUMA nodes: each to the GPUs of those on its host. Hosts are
/// numbered as their first ranks are. A rank of `pinned` stays where that says. Errors: invalid_argument (a profile
/// that does not say it, more hosts than nodes, a socket without GPUs, or with room for fewer ranks: names the rank).
Result<SocketPins> pins_to_sockets(std::span<const Bound> bound, const DeviceGraph& graph, const Slots& slots,
                                   std::span<const Pin> pinned);

}  // namespace sennit::place
