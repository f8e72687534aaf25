// The staged copy is driven by kernels: one side's blocks write chunks of the message into a ring in host memory, the
// other side's blocks read them out as they arrive. Two block programs, launched with equal grids: by the side that
// asks for the copy, and for the side that helps it.
//
// 1. Block b of B moves one contiguous part of the message, in chunks of at most one ring slot.
// 2. Its first chunk is only (b + 1) / B of the others. Blocks that started in step would stay in step, all writing
//    and then all waiting for their writes to land, with the link idle in between; staggered, one fills the other's
//    gap, and the first bytes reach the far side that much sooner. Chunks that also shrink towards the end, or grow
//    from a small one, were slower: a signal between the sides costs more than what it saves (4 × H200, 32 MiB by two
//    paths: 93 µs so, 100 µs with three chunks more a block).
// 3. The sender waits until the slot is free (consumed has come within `slots` of its count), copies, and publishes
//    the new count in produced. The receiver waits for that count, copies, and publishes consumed.
// 4. Having sent everything, the sender waits until it is consumed: when its launch ends, the message has arrived.
// 5. A block that asks does not wait without end for its helper, whose launch may be stuck behind this very kernel:
//    cudaFree, or code that CUDA loads at a first launch, wait for every running kernel and hold back new ones. When
//    nothing has moved for `patience_ns`, the block withdraws the part from the helper and moves it over the direct
//    path itself, where there is one. A helper that comes later sees that and leaves; when both come to it at once,
//    the helper's word decides. A helper that was launched first leaves likewise when the block that asks does not
//    start. A helper that leaves writes no count: the side that asks brings up to date what the next message needs.
// 6. A receiver whose sender is to start only once the receiver's lane has come to the message announces itself
//    first.
// 7. Counts run on from launch to launch in memory that only the block itself writes, so nothing is reset between
//    messages and a captured graph can be replayed. The count of a message's first chunk names the message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/block.h"
#include "device/part.h"

namespace sennit::path {

/// A ring of slots for every block, and the two counts each pair of blocks signals with. Lives in pinned host memory
/// that both sides reach. Zeroed when made.
struct Ring {
  std::byte* slots = nullptr;         ///< block b's slots start at b * slots_per_block * slot_bytes
  device::Word* produced = nullptr;   ///< block b's count at [b * kWordStride]; written by the sender
  device::Word* consumed = nullptr;   ///< likewise, written by the receiver
  device::Word* begun = nullptr;      ///< written by a receiver that announces itself
  device::Word* came = nullptr;       ///< block b's message at [b * kWordStride]; written by the helper
  device::Word* stayed = nullptr;     ///< the latest message for which the helper stays; written by the helper
  device::Word* answered = nullptr;   ///< the latest message for which it has decided; written by the helper
  device::Word* started = nullptr;    ///< block b's message; written by the side that asks
  device::Word* withdrawn = nullptr;  ///< the latest message whose part was taken back; written by the side that asks
  std::uint32_t slots_per_block = 0;
  std::uint64_t slot_bytes = 0;  ///< room in a slot, a multiple of 16; fixed for the life of the ring
};

namespace staged_copy {

/// Numbers of the waits, for faults.
enum WaitId : device::Word { kSlotFree = 1, kChunkArrived = 2, kAllTaken = 3, kAnswered = 4 };

using device::Part;
using device::part_of;

SENNIT_DEVICE std::uint64_t first_chunk(std::uint64_t chunk, unsigned block, unsigned blocks) {
  const std::uint64_t bytes = chunk * (block + 1) / blocks / 16 * 16;
  return bytes == 0 ? 16 : bytes;
}

SENNIT_DEVICE device::Word chunks_of(Part part, std::uint64_t chunk, std::uint64_t first) {
  const std::uint64_t length = part.end - part.begin;
  if (length == 0) return 0;
  return static_cast<device::Word>(1 + (length <= first ? 0 : (length - first + chunk - 1) / chunk));
}

/// Says how one side takes part.
struct Role {
  bool helps = false;           ///< else it asks
  std::byte* beyond = nullptr;  ///< of the side that asks: the other end over the direct path; null: out of reach
  /// Asking: how long to wait for the helper before moving the part over the direct path. Helping: how long for the
  /// block that asks to start; 0: it stands in its lane already, and is waited for as by any wait.
  std::uint64_t patience_ns = 0;
};

enum class Waited { reached, taken_back, gave_up };

/// A block's waits for the other side's block, by rule 5.
template <class Block>
class Partner {
 public:
  SENNIT_DEVICE Partner(Block& block, const Ring& ring, const Role& role, device::Word message)
      : block_(block),
        role_(role),
        came_(ring.came + block.index() * device::kWordStride),
        stayed_(ring.stayed + block.index() * device::kWordStride),
        answered_(ring.answered + block.index() * device::kWordStride),
        started_(ring.started + block.index() * device::kWordStride),
        withdrawn_(ring.withdrawn + block.index() * device::kWordStride),
        message_(message),
        here_(role.helps || role.beyond == nullptr) {}

  /// Does the first thing of both sides. False to a helper that came too late or to a message that was not started:
  /// the other side moves the part.
  SENNIT_DEVICE bool start() {
    if (role_.helps) {
      bool stays = !block_.meet(came_, message_, withdrawn_);
      if (stays && role_.patience_ns != 0) stays = block_.await_for(started_, message_, role_.patience_ns);
      if (stays) block_.post(stayed_, message_);
      block_.signal(answered_, message_);
      return stays;
    }
    block_.post(started_, message_);
    // The count is never far behind, so that comparing stays right when counts wrap around.
    block_.post(withdrawn_, message_ - 1);
    return true;
  }

  SENNIT_DEVICE Waited await(device::Word* word, device::Word value, WaitId wait_id) {
    if (!here_) {
      // A helper that came before us may have left again: worth a look before the rest of the patience.
      const std::uint64_t at_first = role_.patience_ns / 8;
      if (block_.await_for(word, value, at_first) ||
          (!left() && block_.await_for(word, value, role_.patience_ns - at_first))) {
        here_ = device::reached(value, message_);
        return Waited::reached;
      }
      if (!block_.meet(withdrawn_, message_, came_)) return Waited::taken_back;
      if (!block_.await(answered_, message_, kAnswered)) return Waited::gave_up;
      if (!block_.equals(stayed_, message_)) return Waited::taken_back;
      here_ = true;
    }
    return block_.await(word, value, wait_id) ? Waited::reached : Waited::gave_up;
  }

 private:
  /// Returns whether the helper has decided against this message. A helper that has already decided for a later one
  /// left this one first.
  SENNIT_DEVICE bool left() { return block_.equals(answered_, message_) && !block_.equals(stayed_, message_); }

  Block& block_;
  const Role& role_;
  device::Word *const came_, *const stayed_, *const answered_, *const started_, *const withdrawn_;
  const device::Word message_;
  bool here_;  // the other side has begun, or nothing can be done about it
};

}  // namespace staged_copy

struct StagedSend {
  static constexpr const char* kName = "staged_send";
  const std::byte* source;
  std::uint64_t bytes;
  std::uint64_t chunk;  ///< at most ring.slot_bytes, a multiple of 16; equal on both sides
  Ring ring;
  device::Word* count;  ///< block b's own count at [b], in memory of the sending side
  staged_copy::Role role;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const unsigned b = block.index();
    const auto part = staged_copy::part_of(bytes, b, block.count());
    if (part.begin == part.end) return;
    device::Word* const produced = ring.produced + b * device::kWordStride;
    device::Word* const consumed = ring.consumed + b * device::kWordStride;
    std::byte* const slots = ring.slots + b * ring.slots_per_block * ring.slot_bytes;
    device::Word sent = block.load(count + b);
    std::uint64_t size = staged_copy::first_chunk(chunk, b, block.count());
    const device::Word all = sent + staged_copy::chunks_of(part, chunk, size);
    staged_copy::Partner partner(block, ring, role, sent + 1);
    auto waited = partner.start() ? staged_copy::Waited::reached : staged_copy::Waited::taken_back;
    for (std::uint64_t at = part.begin; at < part.end && waited == staged_copy::Waited::reached;
         at += size, size = chunk) {
      if (size > part.end - at) size = part.end - at;
      waited = partner.await(consumed, sent + 1 - ring.slots_per_block, staged_copy::kSlotFree);
      if (waited != staged_copy::Waited::reached) break;
      block.copy(slots + sent % ring.slots_per_block * ring.slot_bytes, source + at, size);
      block.signal(produced, ++sent);
    }
    block.store(count + b, all);
    if (waited == staged_copy::Waited::reached) waited = partner.await(consumed, all, staged_copy::kAllTaken);
    if (waited != staged_copy::Waited::taken_back || role.helps) return;
    block.copy(role.beyond + part.begin, source + part.begin, part.end - part.begin);
    block.signal(produced, all);  // whoever waits for this message to begin need not any more
    block.signal(consumed, all);  // and the slots are free
  }
};

struct StagedReceive {
  static constexpr const char* kName = "staged_receive";
  std::byte* destination;
  std::uint64_t bytes;
  std::uint64_t chunk;  ///< as the sender's
  Ring ring;
  device::Word* count;  ///< block b's own count at [b], in memory of the receiving side
  staged_copy::Role role;
  bool announces = false;  ///< block 0 publishes in ring.begun the count that its first chunk will have

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const unsigned b = block.index();
    const auto part = staged_copy::part_of(bytes, b, block.count());
    if (part.begin == part.end) return;
    device::Word* const produced = ring.produced + b * device::kWordStride;
    device::Word* const consumed = ring.consumed + b * device::kWordStride;
    const std::byte* const slots = ring.slots + b * ring.slots_per_block * ring.slot_bytes;
    device::Word taken = block.load(count + b);
    if (announces && b == 0) block.signal(ring.begun, taken + 1);
    std::uint64_t size = staged_copy::first_chunk(chunk, b, block.count());
    const device::Word all = taken + staged_copy::chunks_of(part, chunk, size);
    staged_copy::Partner partner(block, ring, role, taken + 1);
    auto waited = partner.start() ? staged_copy::Waited::reached : staged_copy::Waited::taken_back;
    for (std::uint64_t at = part.begin; at < part.end && waited == staged_copy::Waited::reached;
         at += size, size = chunk) {
      if (size > part.end - at) size = part.end - at;
      waited = partner.await(produced, taken + 1, staged_copy::kChunkArrived);
      if (waited != staged_copy::Waited::reached) break;
      block.copy(destination + at, slots + taken % ring.slots_per_block * ring.slot_bytes, size);
      block.signal(consumed, ++taken);
    }
    block.store(count + b, all);
    if (waited != staged_copy::Waited::taken_back || role.helps) return;
    block.copy(destination + part.begin, role.beyond + part.begin, part.end - part.begin);
    block.signal(consumed, all);  // the slots of chunks that are not taken are free
  }
};

}  // namespace sennit::path
