// Makes the collectives of several nodes whose messages lie in rows, one for each rank.
#include <algorithm>

#include "net/hierarchical.h"
#include "net/places.h"
#include "net/request.h"

namespace sennit::net {

using coll::Operation;

Status Hierarchical::run_over_rows(std::uint64_t longest, const std::function<Course(const Chunk&)>& course_of) {
  const auto all = chunks_of((longest + kGrain - 1) / kGrain * kGrain, part_ / as_count(nodes_), 1, true);
  return relay_.run(all.size(), 1, [&](std::size_t i) { return course_of(all[i]); });
}

Enqueue Hierarchical::to_own_row(const void* input, std::uint64_t bytes, const Chunk& chunk) const {
  if (bytes <= chunk.begin) return nullptr;
  return [=, this, length = std::min(chunk.bytes, bytes - chunk.begin)](std::byte* rows, device::Lane& lane) {
    return lane.copy(rows + chunk.bytes * as_count(number_), at(input, chunk.begin), length);
  };
}

Status Hierarchical::to_rows(std::byte* rows, std::uint64_t row, const void* input,
                             std::span<const std::uint64_t> lengths, std::span<const std::uint64_t> begins,
                             const Chunk& chunk, std::span<const Place> places, device::Lane& lane) const {
  Status status;
  for (std::size_t rank = 0; status.ok() && rank < places.size(); ++rank)
    if (lengths[rank] > chunk.begin)
      status = lane.copy(rows + row_of(places[rank], row), at(input, begins[rank] + chunk.begin),
                         std::min(row, lengths[rank] - chunk.begin));
  return status;
}

std::uint64_t Hierarchical::own_of(std::span<const std::uint64_t> lengths, std::span<const Place> places) const {
  const auto own = std::ranges::find_if(
      places, [&](const Place& place) { return place.node == number_ && place.rank == node_.rank(); });
  return lengths[static_cast<std::size_t>(own - places.begin())];
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
  const std::uint64_t bytes = own_of(lengths, places);
  return run_over_rows(std::ranges::max(lengths), [&](const Chunk& chunk) {
    const std::uint64_t row = chunk.bytes;
    Course course;
    course.gather = to_own_row(input, bytes, chunk);
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
  const SideBySide all(bytes, places.size());
  return gather_v(input, output, {bytes, bytes, all.lengths, all.begins}, root, places);
}

Status Hierarchical::gather_v(const void* input, void* output, const OfOneRank& messages, Place root,
                              std::span<const Place> places) {
  return run_over_rows(messages.longest, [&](const Chunk& chunk) {
    const std::uint64_t row = chunk.bytes;
    Course course;
    course.gather = to_own_row(input, messages.own, chunk);
    course.trips = {crossing_.gather_at(root.node, row)};
    if (number_ != root.node) return course;
    course.spread = [=, this](std::byte* rows, device::Lane& lane) {
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
  const SideBySide all(bytes, places.size());
  return scatter_v(input, output, {bytes, bytes, all.lengths, all.begins}, root, places);
}

Status Hierarchical::scatter_v(const void* input, void* output, const OfOneRank& messages, Place root,
                               std::span<const Place> places) {
  return run_over_rows(messages.longest, [&](const Chunk& chunk) {
    const std::uint64_t row = chunk.bytes;
    Course course;
    if (number_ == root.node)
      course.gather = [=, this](std::byte* rows, device::Lane& lane) {
        const bool here = node_.rank() == root.rank, alone = node_.size() == 1;
        std::byte* const all_rows = alone ? rows : rows_.data();
        Status status;
        if (here) status = to_rows(all_rows, row, input, messages.lengths, messages.begins, chunk, places, lane);
        if (!status.ok() || alone) return status;
        return call(Operation::scatter, here ? all_rows : nullptr, rows, row * as_count(nodes_), kBytes, lane,
                    root.rank);
      };
    course.trips = {crossing_.scatter_from(root.node, row)};
    if (messages.own > chunk.begin)
      course.spread = [=, this, bytes = std::min(row, messages.own - chunk.begin)](std::byte* rows,
                                                                                   device::Lane& lane) {
        return lane.copy(at(output, chunk.begin), rows + row * as_count(number_), bytes);
      };
    return course;
  });
}

Status Hierarchical::reduce_scatter(const void* input, void* output, std::uint64_t bytes,
                                    const device::Reduction& reduction, std::span<const Place> places) {
  const SideBySide all(bytes, places.size());
  return reduce_scatter_v(input, output, all.lengths, all.begins, reduction, places);
}

Status Hierarchical::reduce_scatter_v(const void* input, void* output, std::span<const std::uint64_t> lengths,
                                      std::span<const std::uint64_t> begins, const device::Reduction& reduction,
                                      std::span<const Place> places) {
  const std::uint64_t bytes = own_of(lengths, places);
  return run_over_rows(std::ranges::max(lengths), [&](const Chunk& chunk) {
    const std::uint64_t row = chunk.bytes, wanted = std::min(row, bytes - std::min(bytes, chunk.begin));
    Course course;
    course.gather = [=, this](std::byte* part, device::Lane& lane) {
      const bool alone = node_.size() == 1;
      std::byte* const rows = alone ? part : rows_.data();
      auto status = to_rows(rows, row, input, lengths, begins, chunk, places, lane);
      if (!status.ok() || alone) return status;
      return call(Operation::reduce_scatter, rows, part, row * as_count(nodes_), reduction, lane);
    };
    course.trips = {crossing_.exchange(row, reduction, wanted != 0 ? at(output, chunk.begin) : nullptr, wanted)};
    return course;
  });
}

}  // namespace sennit::net
