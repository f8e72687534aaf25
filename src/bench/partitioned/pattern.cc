#include "bench/partitioned/pattern.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::bench::partitioned {

namespace {

constexpr std::array<std::pair<std::string_view, Pattern>, 2> kPatterns = {
    {{"sweep3d", Pattern::sweep3d}, {"halo3d", Pattern::halo3d}}};

/// Returns the smallest factor of `count` that is at least its root of that degree, so that grids are even.
int factor(int count, int degree) {
  for (int each = 1; each < count; ++each) {
    const int power = degree == 2 ? each * each : each * each * each;
    if (count % each == 0 && power >= count) return each;
  }
  return count;
}

std::uint64_t face_cells(Pattern pattern) {
  return pattern == Pattern::sweep3d ? kAcross : kAcross * kAcross;
}

}  // namespace

std::string_view name(Pattern pattern) {
  return std::ranges::find(kPatterns, pattern, &std::pair<std::string_view, Pattern>::second)->first;
}

Result<Pattern> parse_pattern(std::string_view text) {
  for (const auto& [name, pattern] : kPatterns)
    if (name == text) return pattern;
  return Status(Code::invalid_argument, fmt::format("there is no pattern '{}'", text), "--pattern",
                "Use sweep3d or halo3d");
}

Grid grid_of(Pattern pattern, int ranks) {
  if (pattern == Pattern::sweep3d) {
    const int x = factor(ranks, 2);
    return {x, ranks / x, 1};
  }
  const int x = factor(ranks, 3), y = factor(ranks / x, 2);
  return {x, y, ranks / x / y};
}

std::uint64_t quantities(const Shape& shape) {
  return shape.numbers() / face_cells(shape.pattern);
}

Status check(const Shape& shape) {
  const std::uint64_t least = 8 * face_cells(shape.pattern) * static_cast<unsigned>(shape.partitions);
  if (shape.bytes >= least && shape.bytes % least == 0) return {};
  return Status(Code::invalid_argument,
                fmt::format("a face of {} in {} partitions has no whole number of quantities",
                            format_bytes(shape.bytes), shape.partitions),
                std::string(name(shape.pattern)), fmt::format("Use a multiple of {} bytes", least));
}

int neighbour(const Grid& grid, int rank, int side) {
  const std::array sizes = {grid.x, grid.y, grid.z};
  std::array at = {rank % grid.x, rank / grid.x % grid.y, rank / grid.x / grid.y};
  const auto axis = std::size_t(side / 2);
  at[axis] += side % 2 == 1 ? 1 : -1;
  if (at[axis] < 0 || at[axis] >= sizes[axis]) return -1;
  return at[0] + grid.x * (at[1] + grid.y * at[2]);
}

int octant(const Shape& shape, int step) {
  return step / shape.planes;
}

Exchange exchange(const Shape& shape, int rank, int step) {
  Exchange found;
  const auto is_there = [&](int side) { return neighbour(shape.grid, rank, side) >= 0; };
  if (shape.pattern == Pattern::halo3d) {
    for (int side = 0; side < kSides; ++side) {
      found.receives[std::size_t(side)] = step > 0 && is_there(side);
      found.sends[std::size_t(side)] = step + 1 < shape.steps() && is_there(side);
    }
    return found;
  }
  for (int axis = 0; axis < 2; ++axis) {
    const int upstream = 2 * axis + (octant(shape, step) >> axis & 1);
    found.receives[std::size_t(upstream)] = is_there(upstream);
    found.sends[std::size_t(opposite(upstream))] = is_there(opposite(upstream));
  }
  return found;
}

Ledger& Ledger::operator+=(const Ledger& other) {
  faces += other.faces;
  bytes += other.bytes;
  received += other.received;
  updates += other.updates;
  return *this;
}

std::uint64_t updates(const Shape& shape) {
  const std::uint64_t cells = shape.pattern == Pattern::sweep3d ? kAcross * kAcross : kAcross * kAcross * kAcross;
  return cells * quantities(shape);
}

Ledger ledger(const Shape& shape, int rank) {
  Ledger found;
  for (int step = 0; step < shape.steps(); ++step) {
    const Exchange sides = exchange(shape, rank, step);
    const auto sent = static_cast<std::uint64_t>(std::ranges::count(sides.sends, true));
    found +=
        {sent, sent * shape.bytes, static_cast<std::uint64_t>(std::ranges::count(sides.receives, true)) * shape.bytes,
         updates(shape) * static_cast<unsigned>(shape.partitions)};
  }
  return found;
}

}  // namespace sennit::bench::partitioned
