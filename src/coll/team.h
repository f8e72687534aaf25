// Describes the ranks of a node as block programs see them: where each one's scratch memory is, and how it is laid
// out.
//
// Scratch of a rank, zeroed when made, written by its peers and read by itself (slots also the other way round):
//   words     for every block, per peer: how many chunks the peer has sent (produced), how many of ours it has taken
//             (consumed), how often it has met us (met). One cache line a block: the peers' words are polled
//             together.
//   news      what copy engines report: see allreduce_copy_engines.h.
//   packets   for every block two places, used in turn by epochs; see device/packet.h.
//   slots     for every block rings of chunks, laid out as the algorithm wants; see links.h.
// A block has words, places and slots of its own, so that blocks never wait for other blocks of their rank, and
// launches of different sizes, algorithms and operations follow each other without a barrier.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/block.h"
#include "device/part.h"

namespace sennit::coll {

/// Most ranks of a node: a limit of device/reduction.h.
inline constexpr int kMostRanks = device::kMostOperands;
/// Most blocks of a launch. A default: about two for each SM of an H200, so that one moves bytes while the other
/// waits.
inline constexpr unsigned kMostBlocks = 256;
/// So many blocks are for messages, where a communicator keeps some for them. A default: no plan of a message has
/// more.
inline constexpr unsigned kBlocksForMessages = kMostBlocks / 4;
/// The others, where messages have theirs.
inline constexpr unsigned kBlocksBesideMessages = kMostBlocks - kBlocksForMessages;
/// Says which peers send to a block, and how many chunks of one may be under way: an algorithm has a layout, and the
/// fewer share a block's slots, the longer are its chunks.
enum class Layout : std::uint8_t {
  mesh,    ///< every peer; two steps overlap, each with a chunk sent and a chunk not yet taken
  direct,  ///< every peer; what arrives is not sent on
  single,  ///< one peer; two chunks are taken through the steps in turn
};
inline constexpr unsigned kLayouts = 3;
SENNIT_DEVICE constexpr std::uint32_t depth_of(Layout layout) {
  return layout == Layout::direct ? 2 : 4;
}
/// Says in whose slots a chunk lies, and so who takes it over the link.
enum class Way : std::uint8_t {
  push,  ///< the receiver's: the sender stores it there
  pull,  ///< the sender's: the receiver loads it from there
};
/// Returns the number for a launch's use of the slots, as BlockCounts keeps it: never 0. `pattern` tells launches of
/// a layout apart in which other peers send; below 2^24.
SENNIT_DEVICE constexpr device::Word use_of_slots(Layout layout, Way way, device::Word pattern) {
  return (pattern << 8) + (static_cast<device::Word>(way) << 4) + static_cast<device::Word>(layout) + 1;
}
SENNIT_DEVICE constexpr Layout layout_in(device::Word use) {
  return static_cast<Layout>(use % 16 - 1);
}
SENNIT_DEVICE constexpr Way way_in(device::Word use) {
  return static_cast<Way>(use >> 4 & 1);
}
/// Patterns of programs whose blocks meet, and count no chunks: of no launch that does. So many blocks share all
/// slots.
SENNIT_DEVICE constexpr device::Word in_one_shot(unsigned blocks) {
  return 0xFE0000 + blocks;
}
SENNIT_DEVICE constexpr device::Word in_two_shots(unsigned blocks) {
  return 0xFF0000 + blocks;
}
/// Marks the pattern of a launch that counts chunks and whose few blocks share all slots: see Shape::of_launch().
inline constexpr device::Word kFewBlocks = 0x010000;
/// Stands for the use by messages.h, which divides the slots again.
inline constexpr device::Word kOfMessages = 0xFFFFFD;
/// Bytes of packets in one of a block's two places. A default: with 128 blocks, two-shot packets reach 1 MiB at 4
/// ranks.
inline constexpr std::uint64_t kPlaceBytes = 24 * 1024;

/// Returns the packets in one of `shares` equal shares of a place.
constexpr unsigned packets_in_share(unsigned shares) {
  return static_cast<unsigned>(kPlaceBytes / sizeof(device::Packet)) / shares;
}

/// Says how scratch of a certain size is cut up: equal on every rank. A change of it raises kLayoutVersion.
struct Shape {
  std::uint64_t block_bytes = 0;            ///< of one block's slots, where each block has its own
  std::uint64_t apart = 0;                  ///< from a block's slots to those of the next, in this launch
  std::uint64_t slot_bytes[kLayouts] = {};  ///< room in one, by layout, in this launch
  unsigned share_packets[2] = {};           ///< in a share of a place, where each peer has one, or two
  unsigned blocks = kMostBlocks;            ///< whose slots are those of collectives; others are left to messages

  static constexpr std::uint64_t kWordsBytes = kMostBlocks * 4 * kMostRanks * sizeof(device::Word);
  static constexpr std::uint64_t kNewsBytes = 4096;
  static constexpr std::uint64_t kPacketsOffset = kWordsBytes + kNewsBytes;
  static constexpr std::uint64_t kPacketsBytes = 2 * kMostBlocks * kPlaceBytes;
  static constexpr std::uint64_t kSlotsOffset = kPacketsOffset + kPacketsBytes;

  /// Returns the shape for `bytes` of scratch of two or more ranks; no slots where they are too few.
  static constexpr Shape of(std::uint64_t bytes, int ranks) {
    return of_block(bytes > kSlotsOffset ? (bytes - kSlotsOffset) / kMostBlocks : 0, ranks);
  }
  /// Slots of 1 KiB or more begin at cache lines: stores that straddle them cross a link as two. So do two of them
  /// together end at one: no part of a message that is rounded up to lines outgrows them.
  static constexpr Shape of_block(std::uint64_t block_bytes, int ranks) {
    Shape shape;
    shape.block_bytes = whole(block_bytes);
    shape.lay_apart(shape.block_bytes, ranks);
    for (unsigned i = 0; i < 2; ++i)
      shape.share_packets[i] = packets_in_share(static_cast<unsigned>(ranks - 1) * (i + 1));
    return shape;
  }
  /// Returns the shape for a launch that counts chunks. Few blocks share the slots of all: every chunk costs waits,
  /// and theirs are as much longer. Fewer than kLeastSharing are of short messages, or of processors whose caches
  /// hold no long chunks. Slots of blocks for messages are left out, whether this communicator keeps them or not:
  /// what was measured in one is so in the other.
  constexpr Shape of_launch(unsigned launched, int ranks) const {
    Shape shape = *this;
    if (launched >= kLeastSharing && launched <= kMostSharing && blocks > kMostSharing)
      shape.lay_apart(
          whole((blocks < kBlocksBesideMessages ? blocks : kBlocksBesideMessages) * block_bytes / kMostSharing),
          ranks);
    return shape;
  }
  /// Defaults.
  static constexpr unsigned kLeastSharing = 9, kMostSharing = 32;
  SENNIT_DEVICE constexpr bool shares() const { return apart != block_bytes; }
  SENNIT_DEVICE constexpr std::uint64_t slot(Layout layout) const {
    return slot_bytes[static_cast<unsigned>(layout)];
  }
  SENNIT_DEVICE static constexpr std::uint64_t whole(std::uint64_t bytes) {
    const std::uint64_t unit = bytes < 1024 ? device::kPartUnit : device::kLongPartUnit;
    return bytes / unit * unit;
  }
  constexpr std::uint64_t bytes() const { return kSlotsOffset + kMostBlocks * block_bytes; }
  /// Returns the bytes of all collectives' slots together.
  SENNIT_DEVICE constexpr std::uint64_t slots_bytes() const { return blocks * block_bytes; }
  /// Returns each block's share where so many share all slots: no less than its own would be, so that it begins
  /// behind those of all blocks before it.
  SENNIT_DEVICE constexpr std::uint64_t share(unsigned sharing) const { return whole(slots_bytes() / sharing); }
  /// Returns the room in a slot of such a share, which has two of each peer's.
  SENNIT_DEVICE constexpr std::uint64_t shared_slot(unsigned sharing, unsigned peers) const {
    return whole(share(sharing) / (2 * peers));
  }

 private:
  constexpr void lay_apart(std::uint64_t bytes, int ranks) {
    apart = bytes;
    for (unsigned i = 0; i < kLayouts; ++i) {
      const auto layout = static_cast<Layout>(i);
      const unsigned senders = layout == Layout::single ? 1 : static_cast<unsigned>(ranks - 1);
      // Ranks pass on what comes the sooner the shorter the chunks are; and chunks are long where there is one
      // sender.
      const std::uint64_t shared = layout == Layout::single ? block_bytes : bytes;
      slot_bytes[i] = whole(shared / (depth_of(layout) * senders));
    }
  }
};

/// A block's counts, in memory of its own rank: they go on from launch to launch, so that nothing is reset and a
/// captured graph can be replayed. Zeroed when made.
struct BlockCounts {
  std::uint64_t epoch = 0;  ///< launches that used packets
  device::Word sent[kMostRanks] = {};
  device::Word taken[kMostRanks] = {};
  device::Word meetings = 0;  ///< with all peers; see meeting.h
  device::Word use = 0;       ///< of the slots, by the last launch that used them; see links.h
};

/// Plain data, passed to kernels.
struct Team {
  int rank = 0, size = 1;
  Shape shape;
  std::byte* scratch[kMostRanks] = {};  ///< of each rank, as this one reaches it
  BlockCounts* counts = nullptr;        ///< by block
  std::int8_t leader[kMostRanks] = {};  ///< of each rank's socket: the lowest rank there

  SENNIT_DEVICE int leader_of(int of) const { return leader[of]; }

  SENNIT_DEVICE unsigned ranks() const { return static_cast<unsigned>(size); }
  SENNIT_DEVICE unsigned peers() const { return ranks() - 1; }
  /// Peer `k` of peers(), in the order of after().
  SENNIT_DEVICE int peer(unsigned k) const { return after(static_cast<int>(k) + 1); }
  /// Returns the rank `step` places after this one: peers are gone through in another order on every rank, so that
  /// they do not all turn to the same one.
  SENNIT_DEVICE int after(int step) const {
    const int peer = rank + step;
    return peer < size ? peer : peer - size;
  }

  /// Counts at `at` that `from` writes for block `block`.
  SENNIT_DEVICE device::Word* produced(int at, int from, unsigned block) const { return words(at, block) + from; }
  SENNIT_DEVICE device::Word* consumed(int at, int from, unsigned block) const {
    return words(at, block) + kMostRanks + from;
  }
  SENNIT_DEVICE device::Word* met(int at, int from, unsigned block) const {
    return words(at, block) + 2 * kMostRanks + from;
  }
  /// Returns the place of an epoch, behind the first one.
  SENNIT_DEVICE static device::PacketUse use_of(std::uint64_t epoch) {
    return {device::tag_of(epoch), (epoch & 1) * kMostBlocks * (kPlaceBytes / sizeof(device::Packet))};
  }
  /// Returns the packets at `at` from `from`, in a block's first place, where each peer has `each` shares of it, one
  /// or two: of those the one with this number.
  SENNIT_DEVICE device::Packet* packets(int at, int from, unsigned block, unsigned share = 0,
                                        unsigned each = 1) const {
    std::byte* const place = scratch[at] + Shape::kPacketsOffset + block * kPlaceBytes;
    return reinterpret_cast<device::Packet*>(place) +
           (sender(at, from) * each + share) * shape.share_packets[each - 1];
  }
  /// Returns a source of what this rank reduces: its peers' packets, or its own message.
  SENNIT_DEVICE device::PacketSource source(int from, unsigned block, unsigned share = 0, unsigned each = 1) const {
    return {from == rank ? nullptr : packets(rank, from, block, share, each), from};
  }
  /// Word `kind` at `at` that `from` writes for the whole launch.
  SENNIT_DEVICE device::Word* news(int at, int from, unsigned kind) const {
    return reinterpret_cast<device::Word*>(scratch[at] + Shape::kWordsBytes) + kind * kMostRanks + from;
  }
  /// Returns all slots at `at`: for launches that begin and end with all ranks together, and cut them up in their own
  /// way.
  SENNIT_DEVICE std::byte* slots(int at) const { return scratch[at] + Shape::kSlotsOffset; }
  /// Returns the slot at `at` for chunk number `count` from `from`.
  SENNIT_DEVICE std::byte* slot(Layout layout, int at, int from, unsigned block, device::Word count) const {
    const std::uint32_t depth = depth_of(layout);
    const std::uint64_t place = (layout == Layout::single ? 0 : sender(at, from)) * depth + count % depth;
    return slots(at) + block * shape.apart + place * shape.slot(layout);
  }
  /// Returns one of two slots at `at` from `from`, where the `sharing` blocks of a launch share all slots: see
  /// Meetings::own_all_slots().
  SENNIT_DEVICE std::byte* shared_slot(int at, int from, unsigned block, unsigned sharing,
                                       device::Word number) const {
    const std::uint64_t place = sender(at, from) * 2 + number % 2;
    return slots(at) + block * shape.share(sharing) + place * shape.shared_slot(sharing, peers());
  }

 private:
  /// Numbers the peers of `at`: no rank sends to itself.
  SENNIT_DEVICE static unsigned sender(int at, int from) {
    return static_cast<unsigned>(from < at ? from : from - 1);
  }
  SENNIT_DEVICE device::Word* words(int at, unsigned block) const {
    return reinterpret_cast<device::Word*>(scratch[at]) + block * 4 * kMostRanks;
  }
};

/// Returns the bytes that a block can send as packets when its place is divided into `shares`: whole units of parts,
/// since that is what messages are cut into.
constexpr std::uint64_t packet_room(unsigned shares) {
  return device::in_units(packets_in_share(shares) * device::kPacketBytes);
}

}  // namespace sennit::coll
