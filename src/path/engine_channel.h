// Drives the staged and relayed copies by copy engines: a lane program over any number of stops. Chunks rest in a
// ring of slots at every stop between source and destination; events hand them from hop to hop.
//
// For chunk k:
// 1. the first hop's lane waits until slot k mod S is free (chunk k - S has left it), copies the chunk in, records;
// 2. every later hop's lane waits for that record, copies on to the next stop, and records in turn, which both frees
//    the slot behind and announces the chunk ahead.
// The chunks of several channels are enqueued in turns, the first hops of all before the others, so that all links
// start at once. Where the hops are equally fast, chunks grow at the start of a message and shrink towards its end:
// the second hop idles while the first chunk arrives, and the first while the last one leaves.
#pragma once

#include <memory>
#include <vector>

#include "device/executor.h"
#include "path/end.h"
#include "path/stream_owner.h"

namespace sennit::path {

/// Returns the size of the chunk after `done` of `bytes`, the last one having had `before` bytes (0: none yet):
/// doubles from kFirstChunk to `chunk`, and halves again when what remains is less than two chunks.
std::uint64_t next_chunk(std::uint64_t bytes, std::uint64_t done, std::uint64_t before, std::uint64_t chunk);

/// A default. Handing a chunk from engine to engine costs 5 to 10 µs (measured on H200): smaller chunks than this
/// make a PCIe 5 link wait for the hand-over more than the pipeline's fill gains.
inline constexpr std::uint64_t kFirstChunk = 1024 * 1024;

class EngineChannel {
 public:
  /// Staging memory is `slots` chunks of `slot_bytes` at every stop but the first and last. A hop out of a GPU is
  /// driven by that GPU's engines (they push), a hop out of host memory by the GPU that receives.
  static Result<std::unique_ptr<EngineChannel>> create(device::Executor& executor, std::vector<int> stops,
                                                       std::uint64_t slot_bytes, unsigned slots);

  /// Begins a message, after `fork` in every lane (null: nothing to wait for). `chunk` is cut to slot_bytes. Messages
  /// of one channel stay in order.
  Status start(End dst, End src, std::uint64_t bytes, std::uint64_t chunk, device::Event* fork);
  bool finished() const { return at_ >= bytes_; }
  /// Enqueue the next chunk: on its first hop, then on the others.
  Status begin_chunk();
  Status end_chunk();
  /// Both.
  Status step();
  /// Makes `lane` wait until the message has arrived.
  Status join(device::Lane& lane);

  std::uint64_t slot_bytes() const { return slot_bytes_; }
  StreamOwner& stream_owner() { return stream_owner_; }
  device::Lane& last_lane() { return *lanes_.back(); }

 private:
  EngineChannel() = default;
  Status hop(std::size_t number);
  std::byte* slot_at(std::size_t stop, std::uint64_t slot) { return staging_[stop].data() + slot * slot_bytes_; }

  std::uint64_t slot_bytes_ = 0;
  bool even_hops_ = false;  // GPU to GPU; from or to the host one hop is a PCIe link and the other far faster
  unsigned slots_ = 0;
  std::vector<device::Memory> staging_;  // one a stop between
  std::vector<std::vector<std::unique_ptr<device::Event>>>
      copied_;                                        // [hop][slot]: the hop's copy of that slot is done
  std::vector<std::unique_ptr<device::Lane>> lanes_;  // one a hop; their end waits for copies that use staging_

  StreamOwner stream_owner_;
  End dst_, src_;
  std::uint64_t bytes_ = 0, at_ = 0, chunk_ = 0, before_ = 0, size_ = 0;
  std::uint64_t next_ = 0;  // chunks enqueued over the channel's life: slot number
};

}  // namespace sennit::path
