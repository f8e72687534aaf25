// Lays out collectives as rounds of messages, for any number of ranks: what a library does that sends whole messages,
// on one node or on thousands. Each generator is the algorithm of that name in the field.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "coll/operation.h"

namespace sennit::sim {

struct Message {
  int from = 0, to = 0;  ///< ranks
  double bytes = 0;
  bool reduced = false;  ///< added to what the receiver has
  /// In host memory of the rank's node instead of its GPU's. From a rank to itself: a copy between the two.
  bool from_host = false, to_host = false;
  bool multicast = false;  ///< those of a round and sender are one, which the network copies

  bool operator==(const Message&) const = default;
};

/// Messages that are sent at the same time.
struct Round {
  std::vector<Message> messages;
  std::uint64_t times = 1;  ///< so many in a row that are alike, with these ranks or with others

  bool operator==(const Round&) const = default;
};
using Rounds = std::vector<Round>;

/// Numbered node by node, as many on each. For hierarchical algorithms a node may also be a socket.
struct Ranks {
  int all = 0, a_node = 0;
  int root = 0;
  int k = 4;             ///< of k-nomial trees
  bool network = false;  ///< it joins the nodes, which are no sockets
  bool hosts = false;    ///< every GPU reaches its node's host memory
  /// Of each rank of a node the one that receives multicasts for it, as they share a NIC; empty: itself.
  std::vector<int> leaders{};

  int nodes() const { return all / a_node; }
  int leader(int local) const { return leaders.empty() ? local : leaders[static_cast<std::size_t>(local)]; }
};

/// Bytes are those of the operation's message, as coll/ has them: of an allreduce, a broadcast or a reduction the
/// vector's; of an allgather, a reduce-scatter, a gather, a scatter or an all-to-all those of one rank's part.
struct MessageAlgorithm {
  coll::Operation operation;
  std::string_view name;
  Rounds (*rounds)(const Ranks& ranks, double bytes);
  bool (*admits)(const Ranks& ranks);
  std::string_view wants;  ///< "a power of two of ranks": what admits() asks
};

/// All there are; an operation's stand together.
std::span<const MessageAlgorithm> message_algorithms();
/// Errors: not_found, listing those that the operation has.
Result<MessageAlgorithm> message_algorithm(coll::Operation operation, std::string_view name);

/// Whether it and the one before it in a round are one multicast.
bool is_copy_of(const Message& message, const Message& before);
/// In all rounds, each as often as it comes; multicasts as what their senders send.
std::uint64_t count_messages(const Rounds& rounds);

}  // namespace sennit::sim
