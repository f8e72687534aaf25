// Drives the host-staged copy by kernels, with both ends in this process.
#pragma once

#include <memory>
#include <optional>

#include "path/engine_channel.h"
#include "path/ring_end.h"

namespace sennit::path {

class KernelChannel {
 public:
  using Shape = RingShape;

  static Result<std::unique_ptr<KernelChannel>> create(device::Executor& executor, int from, int to, Shape shape);

  /// Launches both sides after `fork` (null: nothing to wait for). `blocks` and `chunk` are cut to the ring's shape.
  /// Messages stay in order.
  Status run(End dst, End src, std::uint64_t bytes, int blocks, std::uint64_t chunk, device::Event* fork);
  /// Makes `lane` wait until the message has arrived and the source may be overwritten.
  Status join(device::Lane& lane);

  StreamOwner& stream_owner() { return stream_owner_; }
  const Shape& shape() const { return sender_->shape(); }
  device::Lane& last_lane() { return receiver_->lane(); }

 private:
  KernelChannel() = default;

  StreamOwner stream_owner_;
  bool reaches_ = false;   // the sender's device the receiver's
  device::Memory memory_;  // before the ends: they stop using it before it goes
  std::optional<RingEnd> sender_, receiver_;
};

}  // namespace sennit::path
