#include "path/ring_end.h"

#include <algorithm>
#include <array>
#include <vector>

#include "device/launch.h"

namespace sennit::path {

namespace {

/// A message's blocks wait so long for their helpers before they do without. Defaults: a helper comes within 10 to 40
/// µs on H200, and a thread may have to wait for a processor.
constexpr std::uint64_t kPatienceNs = 100'000;
constexpr std::uint64_t kPatienceOfThreadsNs = 20'000'000;

}  // namespace

Ring lay_out(std::byte* memory, const RingShape& shape) {
  Ring ring;
  ring.slots = memory;
  std::byte* words = memory + shape.slots_bytes();
  const std::array<device::Word**, RingShape::kWords> all{
      &ring.produced, &ring.consumed, &ring.came, &ring.stayed, &ring.answered, &ring.started, &ring.withdrawn};
  for (device::Word** each : all) {
    *each = reinterpret_cast<device::Word*>(words);
    words += shape.words_bytes();
  }
  ring.begun = reinterpret_cast<device::Word*>(words);
  ring.slots_per_block = shape.slots_per_block;
  ring.slot_bytes = shape.slot_bytes;
  return ring;
}

device::Word chunk_count(std::uint64_t bytes, std::uint64_t chunk, unsigned block, unsigned blocks) {
  return staged_copy::chunks_of(staged_copy::part_of(bytes, block, blocks), chunk,
                                staged_copy::first_chunk(chunk, block, blocks));
}

Fitted fit(const RingShape& shape, int blocks, std::uint64_t chunk) {
  const unsigned wanted = blocks > 0 ? static_cast<unsigned>(blocks) : shape.blocks;
  return {std::min(wanted, shape.blocks), std::clamp<std::uint64_t>(chunk / 16 * 16, 16, shape.slot_bytes)};
}

Result<RingEnd> RingEnd::create(device::Executor& executor, int device, Ring ring, RingShape shape) {
  RingEnd end;
  end.shape_ = shape;
  end.ring_ = ring;
  end.patience_ns_ = executor.kind() == device::Kind::host ? kPatienceOfThreadsNs : kPatienceNs;
  // Both: while the one that sends waits for the peer, the peer waits for the one that receives.
  for (const device::Program* program : {&device::program_of<StagedSend>(), &device::program_of<StagedReceive>()})
    if (auto status = executor.load(*program, device); !status) return status;
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
                     const staged_copy::Role& role, device::Event* fork) {
  if (fork != nullptr)
    if (auto status = lane_->wait(*fork); !status) return status;
  const StagedSend program{src, bytes, chunk, ring_, reinterpret_cast<device::Word*>(count_.data()), role};
  return device::launch(*lane_, program, blocks);
}

Status RingEnd::receive(std::byte* dst, std::uint64_t bytes, unsigned blocks, std::uint64_t chunk,
                        const staged_copy::Role& role, device::Event* fork, bool announces) {
  if (fork != nullptr)
    if (auto status = lane_->wait(*fork); !status) return status;
  const StagedReceive program{dst,  bytes,    chunk, ring_, reinterpret_cast<device::Word*>(count_.data()),
                              role, announces};
  return device::launch(*lane_, program, blocks);
}

Status RingEnd::join(device::Lane& lane) {
  if (auto status = lane_->record(*done_); !status) return status;
  return lane.wait(*done_);
}

}  // namespace sennit::path
