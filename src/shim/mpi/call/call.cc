#include "shim/mpi/call/call.h"

#include <algorithm>

#include "shim/mpi/call/segments.h"

namespace sennit::shim::mpi {

std::int64_t Part::count() const {
  std::int64_t all = 0;
  for (int block = 0; block < elements.blocks; ++block) all += elements.count_of(block);
  return all;
}

std::optional<Span> span_of(const Mpi& mpi, const Elements& elements) {
  Span span;
  bool any = false;
  const bool taken = visit_blocks(mpi, elements, [&](const Block& block) {
    const std::int64_t end = block.begin + (block.count - 1) * block.shape.extent;
    const std::int64_t first = std::min(block.begin, end) + block.shape.true_lower;
    const std::int64_t last = std::max(block.begin, end) + block.shape.true_lower + block.shape.true_extent;
    span.first = any ? std::min(span.first, first) : first;
    span.last = any ? std::max(span.last, last) : last;
    return any = true;
  });
  return taken ? std::optional(span) : std::nullopt;
}

bool is_dense(const Mpi& mpi, const Elements& elements) {
  if (elements.types != nullptr || elements.places.data != nullptr) return false;
  // A derived type without gaps may still have its parts in another order.
  return elements.type == kNoHandle || mpi.uniform(elements.type).has_value();
}

std::optional<stage::Strided> strided_of(const Mpi& mpi, const Elements& elements) {
  if (elements.types != nullptr || elements.places.data != nullptr || elements.counts.data != nullptr ||
      elements.type == kNoHandle)
    return std::nullopt;
  Shape shape;
  const auto one = mpi.strided(elements.type);
  if (!one || mpi.shape(elements.type, shape) != 0) return std::nullopt;
  return stage::repeat(*one, elements.blocks * elements.count, shape.extent);
}

namespace {

/// Returns whether the byte at `place`, from the buffer's address on, is data of the elements.
bool is_data(const Mpi& mpi, const Elements& elements, std::int64_t place) {
  const auto segments = segments_of(mpi, elements);
  const auto has_it = [&](const stage::Segments& some) {
    return !some.visit([&](const stage::Segment& segment) {
      return place < segment.first || place >= segment.first + segment.bytes;
    });
  };
  return segments && std::ranges::any_of(*segments, has_it);
}

}  // namespace

std::optional<Overlap> overlap_of(const Call& call) {
  if (call.count != 2 || call.in_place() || !call.parts[0].used() || !call.parts[1].used()) return std::nullopt;
  std::array<std::optional<Span>, 2> spans;
  std::array<std::intptr_t, 2> at{};
  for (std::size_t i = 0; i < 2; ++i) {
    spans[i] = span_of(call.mpi, call.parts[i].elements);
    if (!spans[i] || spans[i]->bytes() <= 0) return std::nullopt;
    at[i] = reinterpret_cast<std::intptr_t>(call.parts[i].address);
  }
  for (const std::size_t outer : {std::size_t{1}, std::size_t{0}}) {
    const std::size_t inner = 1 - outer;
    const std::int64_t first = at[inner] + spans[inner]->first - at[outer];
    if (first < spans[outer]->first || first + spans[inner]->bytes() > spans[outer]->last) continue;
    // A buffer in a gap of the other one is no part of it.
    if (is_data(call.mpi, call.parts[outer].elements, first)) return Overlap{outer, inner, at[inner] - at[outer]};
  }
  return std::nullopt;
}

void Call::add(const Part& part) {
  Part& made = parts[static_cast<std::size_t>(count++)] = part;
  if (part.address != nullptr || !part.significant || part.count() == 0) return;
  const auto span = span_of(mpi, part.elements);
  made.absolute = span && span->bytes() > 0 && span->first != 0;
}

bool Call::in_place() const {
  return std::ranges::any_of(all(), [&](const Part& part) { return mpi.is_in_place(part.address); });
}

const CommShape& Call::place() const {
  if (!place_) {
    place_.emplace();
    // The real function complains about an invalid communicator.
    if (comm == kNoHandle || mpi.shape(comm, *place_) != 0) *place_ = {};
  }
  return *place_;
}

int Call::sources() const {
  Neighbours neighbours;
  return mpi.neighbours(comm, neighbours) == 0 ? neighbours.sources : 0;
}

int Call::destinations() const {
  Neighbours neighbours;
  return mpi.neighbours(comm, neighbours) == 0 ? neighbours.destinations : 0;
}

}  // namespace sennit::shim::mpi
