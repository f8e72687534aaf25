// Makes a broadcast over several nodes, which ranks lead on each of them: all, one for each network adapter, or one.
#include <algorithm>

#include "net/hierarchical.h"
#include "net/places.h"
#include "net/request.h"

namespace sennit::net {

using coll::Operation;

std::optional<std::size_t> Hierarchical::own_lead() const {
  const auto found = std::ranges::find(rails_.leaders, node_.rank());
  if (found == rails_.leaders.end()) return {};
  return static_cast<std::size_t>(found - rails_.leaders.begin());
}

Status Hierarchical::to_leaders(const std::byte* data, const Chunk& chunk, Place root, int owner, std::byte* part,
                                device::Lane& lane) {
  const std::uint64_t count = rails_.leaders.size(), bytes = chunk.whole ? chunk.bytes : chunk.bytes / count;
  const std::byte* const from = at(data, chunk.begin);
  const bool here = node_.rank() == root.rank;
  if (chunk.whole && rails_.leaders[as_count(owner)] == root.rank)
    return here ? lane.copy(part, from, bytes) : Status();
  if (!chunk.whole && rails_.way == Way::rails)
    return call(Operation::scatter, from, part, bytes, kBytes, lane, root.rank);
  Pieces pieces(node_.size());
  for (std::uint64_t lead = 0; lead < count; ++lead) {
    if (chunk.whole && lead != as_count(owner)) continue;
    const auto leader = as_count(rails_.leaders[lead]);
    if (here) {
      pieces.sent[leader] = bytes;
      pieces.sent_from[leader] = chunk.whole ? 0 : lead * bytes;
    }
    if (leader == as_count(node_.rank())) pieces.received[as_count(root.rank)] = bytes;
  }
  return exchange(from, part, pieces, lane);
}

Status Hierarchical::from_leaders(std::byte* data, const Chunk& chunk, Place root, int owner, const std::byte* part,
                                  device::Lane& lane) {
  const std::uint64_t count = rails_.leaders.size();
  std::byte* const to = at(data, chunk.begin);
  if (chunk.whole)
    return call(Operation::broadcast, part, to, chunk.bytes, kBytes, lane, rails_.leaders[as_count(owner)]);
  const std::uint64_t bytes = chunk.bytes / count;
  if (rails_.way == Way::rails) return call(Operation::allgather, part, to, bytes, kBytes, lane);
  // Each leader has a message for every rank, so that its link carries what its adapter brought. The root has all.
  Pieces pieces(node_.size());
  const auto has_all = [&](int rank) { return number_ == root.node && rank == root.rank; };
  for (int rank = 0; own_lead() && rank < node_.size(); ++rank)
    if (!has_all(rank)) pieces.sent[as_count(rank)] = bytes;
  for (std::uint64_t lead = 0; !has_all(node_.rank()) && lead < count; ++lead) {
    const auto leader = as_count(rails_.leaders[lead]);
    pieces.received[leader] = bytes;
    pieces.received_to[leader] = lead * bytes;
  }
  return exchange(part, to, pieces, lane);
}

Status Hierarchical::broadcast(void* data, std::uint64_t bytes, Place root) {
  const int count = static_cast<int>(rails_.leaders.size());
  const auto all = chunks_of(bytes, part_ * as_count(count), count, count == 1);
  // By rails the root has the same place in every node, and keeps what is not divided.
  const int owner = rails_.way == Way::rails ? root.rank : 0;
  const Crossing crossing(rails_.leader_rail, nodes_, number_, room_, 0);
  const auto lead = own_lead();
  return relay_.run(all.size(), 1, [&](std::size_t i) {
    const Chunk& chunk = all[i];
    const std::uint64_t part = chunk.whole ? chunk.bytes : chunk.bytes / as_count(count);
    Course course;
    if (lead && (!chunk.whole || *lead == as_count(owner))) course.trips = {crossing.broadcast(root.node, part)};
    if (number_ == root.node)
      course.gather = [=, this](std::byte* memory, device::Lane& lane) {
        return to_leaders(static_cast<const std::byte*>(data), chunk, root, owner, memory, lane);
      };
    course.spread = [=, this](std::byte* memory, device::Lane& lane) {
      return from_leaders(static_cast<std::byte*>(data), chunk, root, owner, memory, lane);
    };
    return course;
  });
}

}  // namespace sennit::net
