#include "net/crossing.h"

#include <utility>

#include "coll/reduce_rows.h"

namespace sennit::net {

std::vector<Move> Crossing::others(std::uint64_t device, std::uint64_t host, std::uint64_t bytes) const {
  const std::uint64_t before = own(bytes), behind = before + bytes, all = static_cast<std::uint64_t>(nodes_) * bytes;
  std::vector<Move> moves;
  if (before != 0) moves.push_back({device, host, before});
  if (behind != all) moves.push_back({device + behind, host + behind, all - behind});
  return moves;
}

Trip Crossing::exchange(std::uint64_t bytes, const device::Reduction& reduction, std::byte* output,
                        std::uint64_t output_bytes) const {
  Trip trip;
  trip.down = others(0, 0, bytes);
  trip.rail = [=, this](std::byte* host) { return rail_->all_to_all(host, host + half_, bytes); };
  trip.up = others(half_, half_, bytes);
  trip.then = [=, this](std::byte* memory, device::Lane& lane) {
    // The place of the own row among those that came is free.
    std::byte* const to = output != nullptr ? output : memory + half_ + own(bytes);
    std::vector<const std::byte*> rows;
    for (int node = 0; node < nodes_; ++node)
      rows.push_back(memory + (node == node_ ? own(bytes) : half_ + static_cast<std::uint64_t>(node) * bytes));
    return coll::reduce_rows(rows, to, output_bytes, reduction, lane);
  };
  return trip;
}

Trip Crossing::gather(std::uint64_t at, std::uint64_t bytes) const {
  Trip trip;
  trip.down = {{at + own(bytes), own(bytes), bytes}};
  trip.rail = [=, this](std::byte* host) { return rail_->all_gather(host, bytes); };
  trip.up = others(at, 0, bytes);
  return trip;
}

Trip Crossing::gather_at(int root, std::uint64_t bytes) const {
  Trip trip = gather(0, bytes);
  (node_ == root ? trip.down : trip.up).clear();
  trip.rail = [=, this](std::byte* host) { return rail_->gather(host, bytes, root); };
  return trip;
}

Trip Crossing::scatter_from(int root, std::uint64_t bytes) const {
  Trip trip;
  if (node_ == root)
    trip.down = others(0, 0, bytes);
  else
    trip.up = {{own(bytes), own(bytes), bytes}};
  trip.rail = [=, this](std::byte* host) { return rail_->scatter(host, bytes, root); };
  return trip;
}

Trip Crossing::swap(int distance, std::uint64_t sent, std::uint64_t received) const {
  const int to = behind(distance), from = before(distance);
  Trip trip;
  if (sent != 0) trip.down = {{0, 0, sent}};
  trip.rail = [=, this](std::byte* host) { return rail_->swap(host, sent, to, host + half_, received, from); };
  if (received != 0) trip.up = {{half_, half_, received}};
  return trip;
}

Trip Crossing::broadcast(int root, std::uint64_t bytes) const {
  Trip trip;
  (node_ == root ? trip.down : trip.up) = {{0, 0, bytes}};
  trip.rail = [=, this](std::byte* host) { return rail_->broadcast(host, bytes, root); };
  return trip;
}

Trip Crossing::add_other(std::uint64_t bytes, const device::Reduction& reduction) const {
  Trip trip;
  trip.up = {{half_, own(bytes) == 0 ? bytes : 0, bytes}};
  trip.then = [=, this](std::byte* memory, device::Lane& lane) {
    const std::byte* rows[] = {memory, memory + half_};
    if (node_ != 0) std::swap(rows[0], rows[1]);
    return coll::reduce_rows(rows, memory, bytes, reduction, lane);
  };
  return trip;
}

Crossing::Sum Crossing::sum(std::uint64_t bytes, const device::Reduction& reduction) const {
  if (!adds_on_gpu(bytes, nodes_, least_)) {
    Trip trip;
    trip.down = trip.up = {{0, 0, bytes}};
    trip.rail = [=, this](std::byte* host) { return rail_->all_reduce(host, bytes, reduction); };
    return {{trip}, 0};
  }
  if (nodes_ == 2) {
    Trip trip = add_other(bytes, reduction);
    trip.down = {{0, own(bytes), bytes}};
    trip.rail = [=, this](std::byte* host) { return rail_->all_gather(host, bytes); };
    return {{trip}, 0};
  }
  const std::uint64_t row = bytes / static_cast<std::uint64_t>(nodes_);
  return {{exchange(row, reduction, nullptr, row), gather(half_, row)}, half_};
}

Crossing::Sum Crossing::sum_at(int root, std::uint64_t bytes, const device::Reduction& reduction) const {
  const bool here = node_ == root;
  if (!adds_on_gpu(bytes, nodes_, least_)) {
    Trip trip;
    trip.down = {{0, 0, bytes}};
    trip.rail = [=, this](std::byte* host) { return rail_->reduce(host, bytes, reduction, root); };
    if (here) trip.up = trip.down;
    return {{trip}, 0};
  }
  const auto gather_at_root = [=, this](std::uint64_t row) {
    return [=, this](std::byte* host) { return rail_->gather(host, row, root); };
  };
  if (nodes_ == 2) {
    Trip trip;
    if (here)
      trip = add_other(bytes, reduction);
    else
      trip.down = {{0, own(bytes), bytes}};
    trip.rail = gather_at_root(bytes);
    return {{trip}, 0};
  }
  const std::uint64_t row = bytes / static_cast<std::uint64_t>(nodes_);
  Trip second = gather(half_, row);
  (here ? second.down : second.up).clear();
  second.rail = gather_at_root(row);
  return {{exchange(row, reduction, nullptr, row), second}, half_};
}

}  // namespace sennit::net
