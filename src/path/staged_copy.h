// The staged copy, driven by kernels: one side's blocks write chunks of the message into a ring in host memory, the
// other side's blocks read them out as they arrive. Two block programs, launched together with equal grids.
//
// 1. Block b of B moves one contiguous part of the message, in chunks of at most one ring slot.
// 2. Its first chunk is only (b + 1) / B of the others. Blocks that started in step would stay in step, all writing
// and
//    then all waiting for their writes to land, with the link idle in between; staggered, one fills the other's gap,
//    and the first bytes reach the far side that much sooner.
// 3. The sender waits until the slot is free (consumed has come within `slots` of its count), copies, and publishes
//    the new count in produced. The receiver waits for that count, copies, and publishes consumed.
// 4. Having sent everything, the sender waits until it is consumed: when its launch ends, the message has arrived.
// 5. A receiver whose sender is to start only once the receiver's lane has come to the message announces itself
// first.
// 6. Counts run on from launch to launch in memory that only the block itself writes, so nothing is reset between
//    messages and a captured graph can be replayed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/block.h"

namespace sennit::path {

/// A ring of slots for every block, and the two counts each pair of blocks signals with. Lives in pinned host memory
/// that both sides reach. Zeroed when made.
struct Ring {
  std::byte* slots = nullptr;        ///< block b's slots start at b * slots_per_block * slot_bytes
  device::Word* produced = nullptr;  ///< block b's count at [b * kWordStride]; written by the sender
  device::Word* consumed = nullptr;  ///< likewise, written by the receiver
  device::Word* begun = nullptr;     ///< written by a receiver that announces itself
  std::uint32_t slots_per_block = 0;
  std::uint64_t slot_bytes = 0;  ///< room in a slot, a multiple of 16; fixed for the life of the ring
};

namespace staged_copy {

/// Numbers of the waits, for faults.
enum Site : device::Word { kSlotFree = 1, kChunkArrived = 2, kAllTaken = 3 };

/// The part [begin, end) of the message that one block moves.
struct Part {
  std::uint64_t begin, end;
};

SENNIT_DEVICE Part part_of(std::uint64_t bytes, unsigned block, unsigned blocks) {
  std::uint64_t each = (bytes + blocks - 1) / blocks;
  each = (each + 15) / 16 * 16;  // parts keep the alignment of the whole
  const std::uint64_t begin = each * block < bytes ? each * block : bytes;
  const std::uint64_t end = begin + each < bytes ? begin + each : bytes;
  return {begin, end};
}

SENNIT_DEVICE std::uint64_t first_chunk(std::uint64_t chunk, unsigned block, unsigned blocks) {
  const std::uint64_t bytes = chunk * (block + 1) / blocks / 16 * 16;
  return bytes == 0 ? 16 : bytes;
}

}  // namespace staged_copy

struct StagedSend {
  static constexpr const char* kName = "staged_send";
  const std::byte* source;
  std::uint64_t bytes;
  std::uint64_t chunk;  ///< at most ring.slot_bytes, a multiple of 16; equal on both sides
  Ring ring;
  device::Word* count;  ///< block b's own count at [b], in memory of the sending side

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const unsigned b = block.index();
    const auto part = staged_copy::part_of(bytes, b, block.count());
    device::Word* const produced = ring.produced + b * device::kWordStride;
    device::Word* const consumed = ring.consumed + b * device::kWordStride;
    std::byte* const slots = ring.slots + b * ring.slots_per_block * ring.slot_bytes;
    device::Word sent = block.load(count + b);
    std::uint64_t size = staged_copy::first_chunk(chunk, b, block.count());
    for (std::uint64_t at = part.begin; at < part.end; at += size, size = chunk) {
      if (size > part.end - at) size = part.end - at;
      if (!block.await(consumed, sent + 1 - ring.slots_per_block, staged_copy::kSlotFree)) return;
      block.copy(slots + sent % ring.slots_per_block * ring.slot_bytes, source + at, size);
      block.signal(produced, ++sent);
    }
    block.store(count + b, sent);
    (void)block.await(consumed, sent, staged_copy::kAllTaken);
  }
};

struct StagedReceive {
  static constexpr const char* kName = "staged_receive";
  std::byte* destination;
  std::uint64_t bytes;
  std::uint64_t chunk;  ///< as the sender's
  Ring ring;
  device::Word* count;     ///< block b's own count at [b], in memory of the receiving side
  bool announces = false;  ///< block 0 publishes in ring.begun the count that its first chunk will have

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const unsigned b = block.index();
    const auto part = staged_copy::part_of(bytes, b, block.count());
    device::Word* const produced = ring.produced + b * device::kWordStride;
    device::Word* const consumed = ring.consumed + b * device::kWordStride;
    const std::byte* const slots = ring.slots + b * ring.slots_per_block * ring.slot_bytes;
    device::Word taken = block.load(count + b);
    if (announces && b == 0) block.signal(ring.begun, taken + 1);
    std::uint64_t size = staged_copy::first_chunk(chunk, b, block.count());
    for (std::uint64_t at = part.begin; at < part.end; at += size, size = chunk) {
      if (size > part.end - at) size = part.end - at;
      if (!block.await(produced, taken + 1, staged_copy::kChunkArrived)) return;
      block.copy(destination + at, slots + taken % ring.slots_per_block * ring.slot_bytes, size);
      block.signal(consumed, ++taken);
    }
    block.store(count + b, taken);
  }
};

}  // namespace sennit::path
