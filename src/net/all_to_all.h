// Divides an all-to-all over several nodes into rounds, each of one piece of every message.
//
// In a round of distance d a node sends to the one that is d behind it, and receives from the one d before it:
//
// 1. In the node: what its ranks have for rank k of that node goes to their own rank k (an all-to-all of the node,
//    which reads the program's memory).
// 2. Over the rail: rank k sends it, all at once. What comes is for this rank alone, of all ranks of a node.
// 3. In the GPU: it is copied to the places of the ranks that it is from.
//
// The last round, of distance 0, is that of the node's own messages, while the network still carries the others.
//
// The other way round (first the rail, then the node that received) each byte crosses as many links, and a round
// needs as much memory: for what goes and for what comes. But then the kernels of step 1 would wait behind the
// network, on GPUs, for ranks whose rail is late; so ranks meet before it, and nothing behind it waits for a
// neighbour. A round of all nodes at once would need memory for all of their rows, and copies to bring the input into
// that order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sennit::net {

/// The messages of one rank in an all-to-all, in bytes. By rank, in the order of all ranks:
struct Messages {
  std::span<const std::uint64_t> sent, sent_from;        ///< how much goes to it, and where that begins in the input
  std::span<const std::uint64_t> received, received_to;  ///< how much comes from it, and where it goes in the output
  /// Lists, by node and for each by rank of this rank's own node, how much that one sends to the rank there which is
  /// in this rank's place.
  std::span<const std::uint64_t> passed;
  std::uint64_t longest = 0;  ///< of all messages of all ranks, the same on each
};

struct Round {
  int distance = 0;
  std::uint64_t begin = 0, end = 0;  ///< the piece of every message, as far as it has one

  std::uint64_t piece_of(std::uint64_t message) const {
    return message <= begin ? 0 : (message < end ? message : end) - begin;
  }
};

/// Pieces of at most `most` bytes, or a grain (relay.h); for each of them the nodes in turn, so that no two rounds
/// behind each other wait for the same one. There are no rounds where all messages are empty. Pure.
std::vector<Round> rounds_of(int nodes, std::uint64_t longest, std::uint64_t most);

/// Pieces one behind the other, each from a whole grain on.
struct Packed {
  std::vector<std::uint64_t> lengths, places;
  std::uint64_t bytes = 0;

  void add(std::uint64_t length);
};

}  // namespace sennit::net
