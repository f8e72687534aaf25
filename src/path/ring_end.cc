#include "path/ring_end.h"

#include <algorithm>
#include <vector>

#include "device/launch.h"

namespace sennit::path {

Ring lay_out(std::byte* memory, const RingShape& shape) {
  Ring ring;
  ring.slots = memory;
  ring.produced = reinterpret_cast<device::Word*>(memory + shape.slots_bytes());
  ring.consumed = reinterpret_cast<device::Word*>(memory + shape.slots_bytes() + shape.words_bytes());
  ring.begun = reinterpret_cast<device::Word*>(memory + shape.slots_bytes() + 2 * shape.words_bytes());
  ring.slots_per_block = shape.slots_per_block;
  ring.slot_bytes = shape.slot_bytes;
  return ring;
}

device::Word chunk_count(std::uint64_t bytes, std::uint64_t chunk, unsigned block, unsigned blocks) {
  const auto part = staged_copy::part_of(bytes, block, blocks);
  const std::uint64_t length = part.end - part.begin;
  const std::uint64_t first = staged_copy::first_chunk(chunk, block, blocks);
  if (length == 0) return 0;
  return static_cast<device::Word>(1 + (length <= first ? 0 : (length - first + chunk - 1) / chunk));
}

Fitted fit(const RingShape& shape, int blocks, std::uint64_t chunk) {
  const unsigned wanted = blocks > 0 ? static_cast<unsigned>(blocks) : shape.blocks;
  return {std::min(wanted, shape.blocks), std::clamp<std::uint64_t>(chunk / 16 * 16, 16, shape.slot_bytes)};
}

Result<RingEnd> RingEnd::create(device::Executor& executor, int device, Ring ring, RingShape shape) {
  RingEnd end;
  end.shape_ = shape;
  end.ring_ = ring;
  auto lane = executor.lane(device);
  if (!lane) return lane.status();
  end.lane_ = std::move(*lane);
  auto done = executor.event(device);
  if (!done) return done.status();
  end.done_ = std::move(*done);
  const std::vector<device::Word> zeros(shape.blocks, 0);
  auto count = executor.allocate(device, shape.blocks * sizeof(device::Word));
  if (!count) return count.status();
  if (auto status = end.lane_->copy(count->data(), zeros.data(), shape.blocks * sizeof(device::Word)); !status)
    return status;
  if (auto status = end.lane_->synchronize(); !status) return status;
  end.count_ = std::move(*count);
  return end;
}

Status RingEnd::send(const std::byte* src, std::uint64_t bytes, unsigned blocks, std::uint64_t chunk,
                     device::Event* fork) {
  if (fork != nullptr)
    if (auto status = lane_->wait(*fork); !status) return status;
  const StagedSend program{src, bytes, chunk, ring_, reinterpret_cast<device::Word*>(count_.data())};
  return device::launch(*lane_, program, blocks);
}

Status RingEnd::receive(std::byte* dst, std::uint64_t bytes, unsigned blocks, std::uint64_t chunk,
                        device::Event* fork, bool announces) {
  if (fork != nullptr)
    if (auto status = lane_->wait(*fork); !status) return status;
  const StagedReceive program{dst, bytes, chunk, ring_, reinterpret_cast<device::Word*>(count_.data()), announces};
  return device::launch(*lane_, program, blocks);
}

Status RingEnd::join(device::Lane& lane) {
  if (auto status = lane_->record(*done_); !status) return status;
  return lane.wait(*done_);
}

}  // namespace sennit::path
