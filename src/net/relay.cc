#include "net/relay.h"

#include <sched.h>

#include <algorithm>

namespace sennit::net {

namespace {

/// Parts begin at multiples of it: numbers do not straddle them, and copies are fast.
constexpr std::uint64_t kGrain = 128;

}  // namespace

std::vector<Chunk> chunks_of(std::uint64_t bytes, std::uint64_t most, int parts, bool whole) {
  std::vector<Chunk> chunks;
  const std::uint64_t row = whole ? kGrain : kGrain * static_cast<std::uint64_t>(parts);
  const std::uint64_t divided = whole ? bytes : bytes / row * row;
  if (divided != 0) {
    // Equal ones, but for the last: a short one behind long ones would only add its start-up time.
    const std::uint64_t count = (divided + most - 1) / most, rows = (divided + row - 1) / row;
    const std::uint64_t step = (rows + count - 1) / count * row;
    for (std::uint64_t at = 0; at < divided; at += step) chunks.push_back({at, std::min(step, divided - at), whole});
  }
  if (divided != bytes) chunks.push_back({divided, bytes - divided, true});
  return chunks;
}

Status Relay::prepare(std::uint64_t bytes) {
  device::Executor& executor = node_.executor();
  const int device = node_.device();
  for (auto* lane : {&down_, &up_}) {
    if (*lane != nullptr) continue;
    auto made = executor.lane(device);
    if (!made) return made.status();
    *lane = std::move(*made);
  }
  if (slots_.empty()) slots_.resize(kDepth);
  for (Slot& slot : slots_)
    for (auto* event : {&slot.gathered, &slot.down, &slot.up, &slot.spread}) {
      if (*event != nullptr) continue;
      auto made = executor.event(device);
      if (!made) return made.status();
      *event = std::move(*made);
    }
  if (room_ >= bytes) return {};
  room_ = 0;
  for (Slot& slot : slots_) {
    slot.part = {};
    slot.host = {};
    auto part = executor.allocate(device, bytes);
    if (!part) return part.status();
    auto host = executor.allocate_pinned(bytes);
    if (!host) return host.status();
    slot.part = std::move(*part);
    slot.host = std::move(*host);
  }
  room_ = bytes;
  return {};
}

Status Relay::wait_for(device::Event& event) const {
  for (;;) {
    const auto done = event.done();
    if (!done) return done.status();
    if (*done) return {};
    if (auto status = node_.check(); !status) return status;
    sched_yield();
  }
}

Status Relay::begin(const Chunk& chunk, std::uint64_t bytes, const Stages& stages, Slot& slot) {
  device::Lane& lane = node_.lane();
  Status status;
  if (stages.gather) status = stages.gather(chunk, slot.part.data(), lane);
  if (bytes == 0 || !stages.down) return status;
  // The host memory is free again when the slot's chunk before has gone up.
  if (status.ok()) status = lane.record(*slot.gathered);
  if (status.ok()) status = down_->wait(*slot.gathered);
  if (status.ok()) status = down_->wait(*slot.up);
  if (status.ok()) status = down_->copy(slot.host.data(), slot.part.data(), bytes);
  if (status.ok()) status = down_->record(*slot.down);
  return status;
}

Status Relay::end(const Chunk& chunk, std::uint64_t bytes, const Stages& stages, Slot& slot) {
  device::Lane& lane = node_.lane();
  Status status;
  if (bytes != 0) {
    // What goes over the rail is there, and what comes does not meet what still goes up.
    if (status.ok()) status = wait_for(stages.down ? *slot.down : *slot.up);
    if (status.ok() && stages.between) status = stages.between(slot.host.data(), bytes);
    if (stages.up) {
      // The part may still be read for the slot's chunk before.
      if (status.ok()) status = up_->wait(*slot.spread);
      if (status.ok()) status = up_->copy(slot.part.data(), slot.host.data(), bytes);
      if (status.ok()) status = up_->record(*slot.up);
      if (status.ok()) status = lane.wait(*slot.up);
    }
  }
  if (status.ok() && stages.spread) status = stages.spread(chunk, slot.part.data(), lane);
  if (status.ok()) status = lane.record(*slot.spread);
  return status;
}

Status Relay::run_all(std::span<const Chunk> chunks, const Stages& stages,
                      const std::function<std::uint64_t(const Chunk&)>& bytes_of) {
  std::uint64_t room = 0;
  for (const Chunk& chunk : chunks) room = std::max(room, bytes_of(chunk));
  if (auto status = prepare(room); !status) return status;
  const auto start = [&](std::size_t i) {
    return i < chunks.size() ? begin(chunks[i], bytes_of(chunks[i]), stages, slots_[i % kDepth]) : Status();
  };
  for (std::size_t i = 0; i + 1 < kDepth; ++i)
    if (auto status = start(i); !status) return status;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (auto status = start(i + kDepth - 1); !status) return status;
    if (auto status = end(chunks[i], bytes_of(chunks[i]), stages, slots_[i % kDepth]); !status) return status;
  }
  return node_.synchronize(node_.lane());
}

Status Relay::run(std::span<const Chunk> chunks, const Stages& stages,
                  const std::function<std::uint64_t(const Chunk&)>& bytes_of) {
  auto status = run_all(chunks, stages, bytes_of);
  if (status.ok()) return status;
  node_.group().abort(status);
  // What was enqueued still uses the caller's memory.
  for (device::Lane* lane : {&node_.lane(), down_.get(), up_.get()})
    if (lane != nullptr) (void)lane->synchronize();
  return status;
}

}  // namespace sennit::net
