#include "net/hierarchical.h"

#include <algorithm>
#include <numeric>

#include "coll/reduce_rows.h"
#include "net/places.h"
#include "net/request.h"

namespace sennit::net {

namespace {

using coll::Operation;

/// The rank of each node that has what of an allreduce is not divided.
constexpr int kLeader = 0;

}  // namespace

Result<std::unique_ptr<Hierarchical>> Hierarchical::create(node::Node& node, coll::Collectives& collectives,
                                                           int nodes, int number, Rails rails, Options options) {
  // A part is at most so much longer: chunks are rounded up to grains of all ranks, and so is what is not divided.
  const std::uint64_t room = options.part + 2 * kGrain * as_count(node.size()) * as_count(nodes);
  if (rails.way != Way::adapters) {
    rails.leaders.resize(rails.way == Way::rails ? as_count(node.size()) : 1);
    std::iota(rails.leaders.begin(), rails.leaders.end(), kLeader);
    rails.leader_rail = rails.rail;
  }
  std::unique_ptr<Hierarchical> made(
      new Hierarchical(node, collectives, nodes, number, std::move(rails), options, room));
  if (auto agreed = comm::agree(node.group().exchange(), made->prepare(), {}); !agreed) return agreed.status();
  // The first collective makes memory too.
  coll::Request meet;
  meet.operation = Operation::barrier;
  auto status = collectives.call(meet, node.lane());
  if (status.ok()) status = node.synchronize(node.lane());
  if (!status) return collectives.explain(status);
  return made;
}

Status Hierarchical::prepare() {
  if (auto status = coll::load_reduce_rows(node_.executor(), node_.device()); !status) return status;
  const bool sums = rails_.divide() || node_.rank() == kLeader;
  if (auto status = relay_.prepare(sums ? 2 * room_ : own_lead() ? room_ : 0); !status) return status;
  if (!rails_.divide() || node_.size() == 1) return {};
  auto rows = node_.executor().allocate(node_.device(), room_ * as_count(node_.size()));
  if (!rows) return rows.status();
  rows_ = std::move(*rows);
  return {};
}

std::vector<Chunk> Hierarchical::chunks(std::uint64_t bytes) const {
  const bool whole = !rails_.divide();
  const int parts = whole ? 1 : node_.size();
  return chunks_of(bytes, part_ * as_count(parts), parts * nodes_, whole);
}

std::uint64_t Hierarchical::part_of(const Chunk& chunk) const {
  return chunk.whole ? chunk.bytes : chunk.bytes / as_count(node_.size());
}

Status Hierarchical::call(Operation operation, const void* input, void* output, std::uint64_t bytes,
                          const device::Reduction& reduction, device::Lane& lane, int root) {
  const auto request = request_of(operation, input, output, bytes, reduction, root);
  return collectives_.explain(collectives_.call(request, lane));
}

Enqueue Hierarchical::sum_of(const void* input, const Chunk& chunk, const device::Reduction& reduction, int owner) {
  return [=, this](std::byte* part, device::Lane& lane) {
    const std::byte* const from = at(input, chunk.begin);
    return chunk.whole ? call(Operation::reduce, from, part, chunk.bytes, reduction, lane, owner)
                       : call(Operation::reduce_scatter, from, part, part_of(chunk), reduction, lane);
  };
}

Status Hierarchical::all_reduce(const void* input, void* output, std::uint64_t bytes,
                                const device::Reduction& reduction) {
  const auto all = chunks(bytes);
  return relay_.run(all.size(), crossing_.trips_of_sum(), [&](std::size_t i) {
    const Chunk& chunk = all[i];
    Crossing::Sum sum;
    if (has_part(chunk, kLeader)) sum = crossing_.sum(part_of(chunk), reduction);
    Course course;
    course.gather = sum_of(input, chunk, reduction, kLeader);
    course.trips = std::move(sum.trips);
    course.spread = [=, this, from = sum.at](std::byte* memory, device::Lane& lane) {
      std::byte* const part = memory + from;
      std::byte* const to = at(output, chunk.begin);
      return chunk.whole ? call(Operation::broadcast, part, to, chunk.bytes, kBytes, lane, kLeader)
                         : call(Operation::allgather, part, to, part_of(chunk), kBytes, lane);
    };
    return course;
  });
}

Status Hierarchical::reduce(const void* input, void* output, std::uint64_t bytes, const device::Reduction& reduction,
                            Place root) {
  const auto all = chunks(bytes);
  return relay_.run(all.size(), crossing_.trips_of_sum(), [&](std::size_t i) {
    const Chunk& chunk = all[i];
    Crossing::Sum sum;
    if (has_part(chunk, root.rank)) sum = crossing_.sum_at(root.node, part_of(chunk), reduction);
    Course course;
    course.gather = sum_of(input, chunk, reduction, root.rank);
    course.trips = std::move(sum.trips);
    if (number_ != root.node) return course;
    course.spread = [=, this, from = sum.at](std::byte* memory, device::Lane& lane) {
      const bool here = node_.rank() == root.rank;
      std::byte* const part = memory + from;
      std::byte* const to = here ? at(output, chunk.begin) : nullptr;
      if (!chunk.whole) return call(Operation::gather, part, to, part_of(chunk), kBytes, lane, root.rank);
      return here ? lane.copy(to, part, chunk.bytes) : Status();
    };
    return course;
  });
}

Status Hierarchical::exchange(const void* input, void* output, const Pieces& pieces, device::Lane& lane) {
  coll::Request request;
  request.operation = Operation::all_to_all_v;
  request.input = input;
  request.output = output;
  request.reduction = kBytes;
  request.sent = pieces.sent;
  request.sent_from = pieces.sent_from;
  request.received = pieces.received;
  request.received_to = pieces.received_to;
  return collectives_.explain(collectives_.call(request, lane));
}

std::vector<Round> Hierarchical::rounds_of(std::uint64_t longest) const {
  return net::rounds_of(nodes_, longest, part_ / as_count(node_.size()));
}

Course Hierarchical::course_of(const Round& round, const void* input, void* output, const Messages& messages,
                               std::span<const std::size_t> ranks) {
  const auto size = as_count(node_.size());
  const auto to = as_count(crossing_.behind(round.distance)) * size,
             from = as_count(crossing_.before(round.distance)) * size;
  Pieces own;         // of this rank
  Packed goes, came;  // over its rail
  for (std::uint64_t rank = 0; rank < size; ++rank) {
    const std::size_t receiver = ranks[to + rank], sender = ranks[from + rank];
    own.sent.push_back(round.piece_of(messages.sent[receiver]));
    own.sent_from.push_back(messages.sent_from[receiver] + round.begin);
    own.received.push_back(round.piece_of(messages.received[sender]));
    own.received_to.push_back(messages.received_to[sender] + round.begin);
    goes.add(round.piece_of(messages.passed[to + rank]));
    came.add(own.received.back());
  }
  Course course;
  if (round.distance == 0) {
    course.gather = [=, this](std::byte*, device::Lane& lane) { return exchange(input, output, own, lane); };
    return course;
  }
  course.gather = [=, this](std::byte* memory, device::Lane& lane) {
    Pieces pieces = own;
    pieces.received = goes.lengths;
    pieces.received_to = goes.places;
    return exchange(input, memory, pieces, lane);
  };
  Trip trip = crossing_.swap(round.distance, goes.bytes, came.bytes);
  trip.then = [=, this](std::byte* memory, device::Lane& lane) {
    Status status;
    for (std::size_t rank = 0; status.ok() && rank < size; ++rank)
      if (own.received[rank] != 0)
        status = lane.copy(at(output, own.received_to[rank]), memory + room_ + came.places[rank], own.received[rank]);
    return status;
  };
  course.trips = {std::move(trip)};
  return course;
}

Status Hierarchical::all_to_all(const void* input, void* output, std::uint64_t bytes, std::span<const Place> places) {
  const SideBySide all(bytes, places.size());
  return all_to_all_v(input, output, {all.lengths, all.begins, all.lengths, all.begins, all.lengths, bytes}, places);
}

Status Hierarchical::all_to_all_v(const void* input, void* output, const Messages& messages,
                                  std::span<const Place> places) {
  const auto size = as_count(node_.size());
  std::vector<std::size_t> ranks(places.size());  // by node, and for each by place
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    ranks[as_count(places[rank].node) * size + as_count(places[rank].rank)] = rank;
  const auto rounds = rounds_of(messages.longest);
  return relay_.run(rounds.size(), 1,
                    [&](std::size_t i) { return course_of(rounds[i], input, output, messages, ranks); });
}

}  // namespace sennit::net
