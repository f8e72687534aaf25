#include "shim/mpi/call/segments.h"

#include <algorithm>
#include <cstddef>

namespace sennit::shim::mpi {

namespace {

/// Limits the bytes of an element, which MPI_Unpack counts in an int, and whose image is made.
constexpr std::int64_t kMostMarked = std::int64_t{1} << 30;

/// Returns the segments of one element, in the order of addresses; empty: it has no data.
std::optional<std::vector<stage::Segment>> segments_of_one(const Mpi& mpi, Handle type, const Shape& shape) {
  if (shape.size <= 0) return std::vector<stage::Segment>();
  if (type == kNoHandle || mpi.uniform(type)) return std::vector<stage::Segment>{{shape.true_lower, shape.size}};
  if (std::max(shape.size, shape.true_extent) > kMostMarked) return std::nullopt;
  const std::vector<std::byte> marks(static_cast<std::size_t>(shape.size), std::byte{0xff});
  std::vector<std::byte> image(static_cast<std::size_t>(shape.true_extent), std::byte{0});
  if (mpi.unpack(marks.data(), shape.size, image.data() - shape.true_lower, type) != 0) return std::nullopt;
  std::vector<stage::Segment> segments;
  for (auto at = image.begin();;) {
    at = std::find(at, image.end(), std::byte{0xff});
    if (at == image.end()) return segments;
    const auto end = std::find(at, image.end(), std::byte{0});
    segments.push_back({at - image.begin() + shape.true_lower, end - at});
    at = end;
  }
}

/// Elements one behind the other without gaps are one segment.
void put_together(stage::Segments& segments) {
  if (segments.each.size() != 1 || segments.each.front().bytes != segments.stride) return;
  segments.each.front().bytes *= segments.times;
  segments.times = 1;
}

/// Sorted, and those that touch each other are one.
void merge(std::vector<stage::Segment>& segments) {
  std::ranges::sort(segments, {}, &stage::Segment::first);
  std::size_t last = 0;
  for (std::size_t i = 1; i < segments.size(); ++i) {
    stage::Segment& before = segments[last];
    if (segments[i].first <= before.first + before.bytes)
      before.bytes = std::max(before.bytes, segments[i].first + segments[i].bytes - before.first);
    else
      segments[++last] = segments[i];
  }
  if (!segments.empty()) segments.resize(last + 1);
}

}  // namespace

std::optional<std::vector<stage::Segments>> segments_of(const Mpi& mpi, const Elements& elements) {
  std::vector<stage::Segments> found;
  stage::Segments single;  // blocks that are one segment each
  std::vector<stage::Segment> one;
  Handle of = kNoHandle;
  bool known = false;
  const bool taken = visit_blocks(mpi, elements, [&](const Block& block) {
    if (!known || block.type != of) {
      auto made = segments_of_one(mpi, block.type, block.shape);
      if (!made) return false;
      one = std::move(*made);
      of = block.type;
      known = true;
    }
    if (one.empty()) return true;
    stage::Segments segments{one, block.count, block.shape.extent};
    for (stage::Segment& segment : segments.each) segment.first += block.begin;
    put_together(segments);
    if (segments.times == 1)
      single.each.insert(single.each.end(), segments.each.begin(), segments.each.end());
    else
      found.push_back(std::move(segments));
    return true;
  });
  if (!taken) return std::nullopt;
  merge(single.each);
  if (!single.each.empty()) found.push_back(std::move(single));
  return found;
}

}  // namespace sennit::shim::mpi
