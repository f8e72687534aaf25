// Plays rounds of messages on a fabric: every message of every chunk by itself, or, where there are too many, each
// round that is unlike the others once.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/play.h"
#include "sim/rounds.h"

namespace sennit::sim {

/// What messages take beside their bytes. Each number is a default.
struct MessageCosts {
  double message_us = 3.5;  ///< within a node, before its first byte: a launch's part, a signal
  double network_us = 14;   ///< the same to another node: what NCCL counts for a hop there (Simple)
  double reduce_us = 0;     ///< before bytes that came are added, where that is a step of its own
  double reduce_gbps = 0;  ///< of bytes that are added behind their arrival, one sum after the other; 0: as they come
  double gpu_read_gbps = 0;   ///< that a NIC reads of a GPU's memory, a message after the other; 0: as links allow
  double to_host_gbps = 0;    ///< of copies from a GPU to its host; 0: as links allow
  double mtu_bytes = 4096;    ///< of a multicast's packets
  double multicast_a = 17.5;  ///< a packet to n ranks costs ln(n) / a µs beside its bytes (Chu et al., equation 10)
};
struct NamedMessageCost {
  std::string_view name;
  double MessageCosts::*cost;
};
inline constexpr NamedMessageCost kMessageCosts[] = {
    {"message_us", &MessageCosts::message_us},       {"network_us", &MessageCosts::network_us},
    {"reduce_us", &MessageCosts::reduce_us},         {"reduce_gbps", &MessageCosts::reduce_gbps},
    {"gpu_read_gbps", &MessageCosts::gpu_read_gbps}, {"to_host_gbps", &MessageCosts::to_host_gbps},
    {"mtu_bytes", &MessageCosts::mtu_bytes},         {"multicast_a", &MessageCosts::multicast_a},
};

/// All GPUs of the fabric. On one node whose sockets have as many GPUs each, one after the other, sockets are what
/// hierarchical algorithms take for nodes.
Ranks all_ranks(const Fabric& fabric, int root = 0);
/// Where ranks are: the GPUs of node 0 in the machine's order, then those of node 1, …
std::vector<int> places_of(const Fabric& fabric, int ranks);

/// What becomes of a message: the task that moves it, and the one behind which its receiver can go on: a reduction,
/// say.
struct Sent {
  Graph::Id moved = Graph::kNone, ready = Graph::kNone;
};
/// `copies`: one message, or those of a multicast.
using Send = std::function<Sent(std::span<const Message> copies, std::span<const Graph::Id> needs)>;
/// Every message, of each of `chunks`, as below; `send` puts it into the graph.
void unroll(Graph& graph, const Rounds& of_a_chunk, int chunks, std::size_t ranks, const Send& send);

/// Every message, of each of `chunks` that follow each other through the rounds. A rank begins a round when it is
/// ready with the round before, and, of a chunk, when its messages of that round of the chunk before have come and
/// gone.
Graph unroll(const Rounds& of_a_chunk, int chunks, std::span<const int> places, const MessageCosts& costs,
             const Fabric& fabric);
/// The same of several jobs that begin at the same time and know nothing of each other: broadcasts of several roots.
Graph unroll(std::span<const Rounds> jobs, int chunks, std::span<const int> places, const MessageCosts& costs,
             const Fabric& fabric);

/// Each round by itself, and as often as it comes: exact where all keep step. Errors: as play().
Result<Outcome> fold(const Rounds& rounds, std::span<const int> places, const MessageCosts& costs,
                     const Fabric& fabric, double epsilon_us = 0);

}  // namespace sennit::sim
