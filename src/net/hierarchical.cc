#include "net/hierarchical.h"

#include <algorithm>

#include "coll/reduce_rows.h"
#include "net/request.h"

namespace sennit::net {

namespace {

using coll::Operation;

/// The rank of each node that has what of an allreduce is not divided.
constexpr int kLeader = 0;

const std::byte* at(const void* data, std::uint64_t bytes) {
  return static_cast<const std::byte*>(data) + bytes;
}
std::byte* at(void* data, std::uint64_t bytes) {
  return static_cast<std::byte*>(data) + bytes;
}

std::uint64_t as_count(int number) {
  return static_cast<std::uint64_t>(number);
}

/// Messages of the same length, by rank.
struct SideBySide {
  SideBySide(std::uint64_t bytes, std::size_t ranks) : lengths(ranks, bytes) {
    for (std::size_t rank = 0; rank < ranks; ++rank) begins.push_back(rank * bytes);
  }
  std::vector<std::uint64_t> lengths, begins;
};

}  // namespace

Result<std::unique_ptr<Hierarchical>> Hierarchical::create(path::Node& node, coll::Collectives& collectives,
                                                           int nodes, int number, Rail* rail, Way way,
                                                           Options options) {
  // A part is at most so much longer: chunks are rounded up to grains of all ranks, and so is what is not divided.
  const std::uint64_t room = options.part + 2 * kGrain * as_count(node.size()) * as_count(nodes);
  std::unique_ptr<Hierarchical> made(new Hierarchical(node, collectives, nodes, number, rail, way, options, room));
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
  if (auto status = relay_.prepare(way_ == Way::leaders && node_.rank() != kLeader ? 0 : 2 * room_); !status)
    return status;
  if (way_ == Way::leaders || node_.size() == 1) return {};
  auto rows = node_.executor().allocate(node_.device(), room_ * as_count(node_.size()));
  if (!rows) return rows.status();
  rows_ = std::move(*rows);
  return {};
}

std::vector<Chunk> Hierarchical::chunks(std::uint64_t bytes) const {
  const bool whole = way_ == Way::leaders;
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

Status Hierarchical::broadcast(void* data, std::uint64_t bytes, Place root) {
  const auto all = chunks(bytes);
  return relay_.run(all.size(), 1, [&](std::size_t i) {
    const Chunk& chunk = all[i];
    Course course;
    if (has_part(chunk, root.rank)) course.trips = {crossing_.broadcast(root.node, part_of(chunk))};
    if (number_ == root.node)
      course.gather = [=, this](std::byte* part, device::Lane& lane) {
        const std::byte* const from = at(data, chunk.begin);
        if (!chunk.whole) return call(Operation::scatter, from, part, part_of(chunk), kBytes, lane, root.rank);
        return node_.rank() == root.rank ? lane.copy(part, from, chunk.bytes) : Status();
      };
    course.spread = [=, this](std::byte* part, device::Lane& lane) {
      std::byte* const to = at(data, chunk.begin);
      return chunk.whole ? call(Operation::broadcast, part, to, chunk.bytes, kBytes, lane, root.rank)
                         : call(Operation::allgather, part, to, part_of(chunk), kBytes, lane);
    };
    return course;
  });
}

std::vector<Chunk> Hierarchical::chunks_of_rows(std::uint64_t bytes) const {
  return chunks_of((bytes + kGrain - 1) / kGrain * kGrain, part_ / as_count(nodes_), 1, true);
}

Status Hierarchical::to_rows(std::byte* rows, std::uint64_t row, const void* input, std::uint64_t bytes,
                             const Chunk& chunk, std::span<const Place> places, device::Lane& lane) const {
  Status status;
  for (std::size_t rank = 0; status.ok() && rank < places.size(); ++rank)
    status = lane.copy(rows + row_of(places[rank], row), at(input, rank * bytes + chunk.begin),
                       std::min(row, bytes - chunk.begin));
  return status;
}

Status Hierarchical::from_rows(const std::byte* rows, std::uint64_t row, void* output,
                               std::span<const std::uint64_t> lengths, std::span<const std::uint64_t> begins,
                               const Chunk& chunk, std::span<const Place> places, device::Lane& lane) const {
  Status status;
  for (std::size_t rank = 0; status.ok() && rank < places.size(); ++rank)
    if (lengths[rank] > chunk.begin)
      status = lane.copy(at(output, begins[rank] + chunk.begin), rows + row_of(places[rank], row),
                         std::min(row, lengths[rank] - chunk.begin));
  return status;
}

Status Hierarchical::all_gather(const void* input, void* output, std::uint64_t bytes, std::span<const Place> places) {
  const SideBySide messages(bytes, places.size());
  return all_gather_v(input, output, messages.lengths, messages.begins, places);
}

Status Hierarchical::all_gather_v(const void* input, void* output, std::span<const std::uint64_t> lengths,
                                  std::span<const std::uint64_t> begins, std::span<const Place> places) {
  const auto own = std::ranges::find_if(
      places, [&](const Place& place) { return place.node == number_ && place.rank == node_.rank(); });
  const std::uint64_t bytes = lengths[static_cast<std::size_t>(own - places.begin())];
  const auto all = chunks_of_rows(std::ranges::max(lengths));
  return relay_.run(all.size(), 1, [&](std::size_t i) {
    const Chunk& chunk = all[i];
    const std::uint64_t row = chunk.bytes;
    Course course;
    course.gather = [=, this](std::byte* rows, device::Lane& lane) {
      if (bytes <= chunk.begin) return Status();
      return lane.copy(rows + row * as_count(number_), at(input, chunk.begin), std::min(row, bytes - chunk.begin));
    };
    course.trips = {crossing_.gather(0, row)};
    course.spread = [=, this](std::byte* rows, device::Lane& lane) {
      const bool alone = node_.size() == 1;
      std::byte* const all_rows = alone ? rows : rows_.data();
      Status status;
      if (!alone) status = call(Operation::allgather, rows, all_rows, row * as_count(nodes_), kBytes, lane);
      return status.ok() ? from_rows(all_rows, row, output, lengths, begins, chunk, places, lane) : status;
    };
    return course;
  });
}

Status Hierarchical::gather(const void* input, void* output, std::uint64_t bytes, Place root,
                            std::span<const Place> places) {
  const SideBySide messages(bytes, places.size());
  const auto all = chunks_of_rows(bytes);
  return relay_.run(all.size(), 1, [&](std::size_t i) {
    const Chunk& chunk = all[i];
    const std::uint64_t row = chunk.bytes;
    Course course;
    course.gather = [=, this](std::byte* rows, device::Lane& lane) {
      return lane.copy(rows + row * as_count(number_), at(input, chunk.begin), std::min(row, bytes - chunk.begin));
    };
    course.trips = {crossing_.gather_at(root.node, row)};
    if (number_ != root.node) return course;
    course.spread = [=, &messages, this](std::byte* rows, device::Lane& lane) {
      const bool here = node_.rank() == root.rank, alone = node_.size() == 1;
      std::byte* const all_rows = alone ? rows : rows_.data();
      Status status;
      if (!alone)
        status =
            call(Operation::gather, rows, here ? all_rows : nullptr, row * as_count(nodes_), kBytes, lane, root.rank);
      if (!status.ok() || !here) return status;
      return from_rows(all_rows, row, output, messages.lengths, messages.begins, chunk, places, lane);
    };
    return course;
  });
}

Status Hierarchical::scatter(const void* input, void* output, std::uint64_t bytes, Place root,
                             std::span<const Place> places) {
  const auto all = chunks_of_rows(bytes);
  return relay_.run(all.size(), 1, [&](std::size_t i) {
    const Chunk& chunk = all[i];
    const std::uint64_t row = chunk.bytes;
    Course course;
    if (number_ == root.node)
      course.gather = [=, this](std::byte* rows, device::Lane& lane) {
        const bool here = node_.rank() == root.rank, alone = node_.size() == 1;
        std::byte* const all_rows = alone ? rows : rows_.data();
        Status status;
        if (here) status = to_rows(all_rows, row, input, bytes, chunk, places, lane);
        if (!status.ok() || alone) return status;
        return call(Operation::scatter, here ? all_rows : nullptr, rows, row * as_count(nodes_), kBytes, lane,
                    root.rank);
      };
    course.trips = {crossing_.scatter_from(root.node, row)};
    course.spread = [=, this](std::byte* rows, device::Lane& lane) {
      return lane.copy(at(output, chunk.begin), rows + row * as_count(number_), std::min(row, bytes - chunk.begin));
    };
    return course;
  });
}

Status Hierarchical::reduce_scatter(const void* input, void* output, std::uint64_t bytes,
                                    const device::Reduction& reduction, std::span<const Place> places) {
  const auto all = chunks_of_rows(bytes);
  return relay_.run(all.size(), 1, [&](std::size_t i) {
    const Chunk& chunk = all[i];
    const std::uint64_t row = chunk.bytes, wanted = std::min(row, bytes - chunk.begin);
    Course course;
    course.gather = [=, this](std::byte* part, device::Lane& lane) {
      const bool alone = node_.size() == 1;
      std::byte* const rows = alone ? part : rows_.data();
      auto status = to_rows(rows, row, input, bytes, chunk, places, lane);
      if (!status.ok() || alone) return status;
      return call(Operation::reduce_scatter, rows, part, row * as_count(nodes_), reduction, lane);
    };
    course.trips = {crossing_.exchange(row, reduction, at(output, chunk.begin), wanted)};
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
    return exchange(input, memory, {own.sent, own.sent_from, goes.lengths, goes.places}, lane);
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
