// Describes messages between ranks, every pair its own: allgather, broadcast, gather, scatter, all-to-all and
// all-to-all-v have this in common. Only who sends what to whom differs, and that is said here.
#pragma once

#include "coll/operation.h"
#include "coll/team.h"
#include "device/part.h"

namespace sennit::coll {

/// A rank's view of an exchange: by peer, and for itself. What it sends to a peer is as long as what the peer
/// expects of it. Plain data, passed to kernels.
struct Exchange {
  struct Message {
    const std::byte* from = nullptr;                   ///< what this rank sends to the other
    std::uint64_t sent = 0;                            ///< bytes of it
    std::byte* to = nullptr;                           ///< where what the other sends goes
    std::uint64_t received = 0;                        ///< bytes of it
    std::uint64_t block_sent = 0, block_received = 0;  ///< of each block but the last ones: see cut()
  };
  Message with[kMostRanks];

  /// Divides each message among at most `blocks` blocks, which get at least `least` bytes each, or all; here, since a
  /// GPU takes long to divide.
  void cut(unsigned blocks, std::uint64_t least = 0);
};

/// Returns the exchange that `operation` (one of those above but all-to-all-v) is for `rank`. `bytes`: of the
/// message, or of each of the messages that lie side by side.
Exchange exchange_of(Operation operation, const std::byte* input, std::byte* output, std::uint64_t bytes, int root,
                     int rank, int size);

}  // namespace sennit::coll
