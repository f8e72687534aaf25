#include "net/relay.h"

#include <sched.h>

#include <algorithm>

namespace sennit::net {

std::vector<Chunk> chunks_of(std::uint64_t bytes, std::uint64_t most, int parts, bool whole) {
  std::vector<Chunk> chunks;
  const std::uint64_t row = kGrain * static_cast<std::uint64_t>(parts), divided = bytes / row * row;
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
    auto made = executor.lane(device);
    if (!made) return made.status();
    *lane = std::move(*made);
  }
  slots_.resize(kSlots);
  for (Slot& slot : slots_) {
    for (auto* event : {&slot.gathered, &slot.down, &slot.up, &slot.spread}) {
      auto made = executor.event(device);
      if (!made) return made.status();
      *event = std::move(*made);
    }
    if (bytes == 0) continue;
    auto memory = executor.allocate(device, bytes);
    if (!memory) return memory.status();
    auto host = executor.allocate_pinned(bytes);
    if (!host) return host.status();
    slot.memory = std::move(*memory);
    slot.host = std::move(*host);
  }
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

Status Relay::gather(Slot& slot) {
  device::Lane& lane = node_.lane();
  Status status;
  if (slot.course.gather) status = slot.course.gather(slot.memory.data(), lane);
  if (slot.course.trips.empty()) return status;
  if (status.ok()) status = lane.record(*slot.gathered);
  if (status.ok()) status = down_->wait(*slot.gathered);
  if (status.ok()) status = go_down(slot, slot.course.trips.front());
  return status;
}

Status Relay::go_down(Slot& slot, const Trip& trip) {
  if (trip.down.empty()) return {};
  // The wait is over when what came up before has been dealt with: what is to go down is there, and the host memory
  // is free again.
  Status status = down_->wait(*slot.up);
  for (const Move& move : trip.down)
    if (status.ok()) status = down_->copy(slot.host.data() + move.host, slot.memory.data() + move.device, move.bytes);
  return status.ok() ? down_->record(*slot.down) : status;
}

Status Relay::make(Slot& slot, std::size_t number) {
  const auto& trips = slot.course.trips;
  if (number >= trips.size()) return {};
  const Trip& trip = trips[number];
  // After the wait, what goes over the rail is there, and what comes does not meet what still goes up.
  Status status = wait_for(trip.down.empty() ? *slot.up : *slot.down);
  if (status.ok()) status = trip.rail(slot.host.data());
  // The memory may still be read for the slot's chunk before, and holds what was gathered for this one.
  if (status.ok()) status = up_->wait(*slot.spread);
  if (status.ok()) status = up_->wait(*slot.gathered);
  for (const Move& move : trip.up)
    if (status.ok()) status = up_->copy(slot.memory.data() + move.device, slot.host.data() + move.host, move.bytes);
  if (status.ok() && trip.then) status = trip.then(slot.memory.data(), *up_);
  if (status.ok()) status = up_->record(*slot.up);
  if (status.ok() && number + 1 < trips.size()) status = go_down(slot, trips[number + 1]);
  return status;
}

Status Relay::spread(Slot& slot) {
  device::Lane& lane = node_.lane();
  Status status;
  if (!slot.course.trips.empty()) status = lane.wait(*slot.up);
  if (status.ok() && slot.course.spread) status = slot.course.spread(slot.memory.data(), lane);
  return status.ok() ? lane.record(*slot.spread) : status;
}

Status Relay::run_all(std::size_t count, std::size_t trips, const std::function<Course(std::size_t)>& course_of) {
  const std::size_t lag = trips + 1;  // turns from a chunk's gathering to its spreading
  const auto slot = [&](std::size_t chunk) -> Slot& { return slots_[chunk % (lag + 1)]; };
  for (std::size_t turn = 0; turn < count + lag; ++turn) {
    if (turn < count) {
      slot(turn).course = course_of(turn);
      if (auto status = gather(slot(turn)); !status) return status;
    }
    for (std::size_t trip = 0; trip < trips; ++trip) {
      const std::size_t behind = 2 + trip;
      if (turn < behind || turn - behind >= count) continue;
      if (auto status = make(slot(turn - behind), trip); !status) return status;
    }
    if (turn >= lag)
      if (auto status = spread(slot(turn - lag)); !status) return status;
  }
  return node_.synchronize(node_.lane());
}

Status Relay::run(std::size_t count, std::size_t trips, const std::function<Course(std::size_t)>& course_of) {
  auto status = run_all(count, trips, course_of);
  if (status.ok()) return status;
  node_.group().abort(status);
  // Work that was enqueued still uses the caller's memory.
  for (device::Lane* lane : {&node_.lane(), down_.get(), up_.get()})
    if (lane != nullptr) (void)lane->synchronize();
  return status;
}

}  // namespace sennit::net
