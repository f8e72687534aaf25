// Describes a message between two ranks, and starts those that a rank has with others.
#pragma once

#include <span>

#include "coll/team.h"
#include "device/lane.h"

namespace sennit::coll {

struct Message {
  int peer = 0;  ///< or the rank itself
  bool sends = false;
  std::byte* at = nullptr;                   ///< what is sent, or where it goes
  std::uint64_t bytes = 0;                   ///< the same on both sides
  unsigned blocks = 1;                       ///< that share it: the same on both sides
  unsigned threads = device::kBlockThreads;  ///< of a block on a GPU
};

/// Says how the slots that a block has for a peer (of Layout::direct) are divided for messages.
struct MessageSlots {
  device::Word depth = 2;   ///< a power of two: counts wrap around
  std::uint64_t bytes = 0;  ///< room in one

  /// Cuts slots of some 16 KiB, a default: long enough to be worth their signals, and as many as there is room for,
  /// up to eight, so that the next chunks arrive while those before are taken.
  static MessageSlots of(const Shape& shape);
};

/// Says which blocks a communicator's messages have.
struct MessageBlocks {
  unsigned first = 0;  ///< messages have the slots and counts of blocks from here on
  unsigned count = kMostBlocks;
  /// Says whether they share blocks with the collectives of the communicator. Then each rank makes each launch, with
  /// messages of the same numbers of blocks: the collective `sendrecv`.
  bool shared = true;
};

/// Starts messages on `lane`, all at the same time; those of a direction between two ranks in the order in which they
/// are here, which must be that of the peer. What a rank sends to itself goes where it receives from itself, in
/// order, and is as often and as long. More than a launch holds are several launches, one behind the other: the first
/// messages of every peer and direction, then those that follow. Errors: invalid_argument (too many blocks, messages
/// of a rank to itself that do not fit each other), those of the lane.
Status send_receive(std::span<const Message> messages, const Team& team, const MessageBlocks& blocks,
                    device::Lane& lane);

}  // namespace sennit::coll
