// Holds one end of a kernel-driven staged copy: the ring as this end sees it, the blocks' own counts, and a lane to
// launch on. Both ends may be in one process (KernelChannel) or in two (ProxyChannel).
#pragma once

#include <memory>

#include "device/executor.h"
#include "path/staged_copy.h"

namespace sennit::path {

/// Geometry of a ring; fixed for its life.
struct RingShape {
  /// Defaults: of 60 shapes the one that is best beside a direct copy, or within 1 % of it (4 × H200, 64 MiB to 1
  /// GiB). Shapes that carry more when alone (to 50 instead of 40 GB/s) fill the PCIe link and hold the direct copy
  /// up: 1 GiB takes 3.0 to 4.0 instead of 2.5 ms.
  unsigned blocks = 4;                ///< most blocks a side
  std::uint32_t slots_per_block = 4;  ///< a power of two, so that counts may wrap around
  std::uint64_t slot_bytes = 128 * 1024;

  static constexpr std::uint64_t kWords = 7;  ///< a block: see Ring
  std::uint64_t slots_bytes() const { return blocks * slots_per_block * slot_bytes; }
  std::uint64_t words_bytes() const { return blocks * device::kWordStride * sizeof(device::Word); }
  std::uint64_t bytes() const {
    return slots_bytes() + kWords * words_bytes() + device::kWordStride * sizeof(device::Word);
  }
};

/// Returns the ring laid out in bytes() of zeroed, pinned memory.
Ring lay_out(std::byte* memory, const RingShape& shape);

/// Returns the number of chunks that block `block` moves of a message: how far its counts advance.
device::Word chunk_count(std::uint64_t bytes, std::uint64_t chunk, unsigned block, unsigned blocks);

class RingEnd {
 public:
  /// Blocks wait a nanosecond longer for the helpers of so many more bytes. A default: a few blocks that move them
  /// over the direct path themselves take some 15 ps a byte longer than with helpers, and that much waiting may cost.
  static constexpr std::uint64_t kBytesPerNs = 64;
  /// A helper that was launched first waits so many times longer. A default: leaving too early costs the message its
  /// help.
  static constexpr std::uint64_t kVainPatience = 10;

  static Result<RingEnd> create(device::Executor& executor, int device, Ring ring, RingShape shape);

  /// Returns the role of the end that asks, which says what it may do when the other end does not come: `beyond` is
  /// the other end of the message as this device reaches it, null where it does not.
  staged_copy::Role asks(std::byte* beyond, std::uint64_t bytes) const {
    return {false, beyond, patience_ns_ + bytes / kBytesPerNs};
  }
  /// `started`: the side that asks has begun, or stands in its lane before this launch.
  staged_copy::Role helps(bool started) const { return {true, nullptr, started ? 0 : kVainPatience * patience_ns_}; }

  /// Launch the sending or the receiving program after `fork` (null: nothing to wait for). `blocks` and `chunk` must
  /// be what the other end uses: see fit(). Messages stay in order.
  Status send(const std::byte* src, std::uint64_t bytes, unsigned blocks, std::uint64_t chunk,
              const staged_copy::Role& role, device::Event* fork);
  /// `announces`: the sender waits for the ring's `begun`.
  Status receive(std::byte* dst, std::uint64_t bytes, unsigned blocks, std::uint64_t chunk,
                 const staged_copy::Role& role, device::Event* fork, bool announces = false);

  /// Records the end of the latest launch, then makes `lane` wait for it.
  Status join(device::Lane& lane);

  device::Lane& lane() { return *lane_; }
  const RingShape& shape() const { return shape_; }
  const Ring& ring() const { return ring_; }

 private:
  RingShape shape_;
  Ring ring_;
  std::uint64_t patience_ns_ = 0;
  device::Memory count_;
  std::unique_ptr<device::Event> done_;
  std::unique_ptr<device::Lane> lane_;  // last: its end waits for programs that still use the counts
};

/// `blocks` and `chunk` cut to what the ring can carry.
struct Fitted {
  unsigned blocks;
  std::uint64_t chunk;
};
Fitted fit(const RingShape& shape, int blocks, std::uint64_t chunk);

}  // namespace sennit::path
