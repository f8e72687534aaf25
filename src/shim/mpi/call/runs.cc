#include "shim/mpi/call/runs.h"

#include <algorithm>
#include <cstddef>

namespace sennit::shim::mpi {

namespace {

/// Of an element, which MPI_Unpack counts in an int, and whose image is made: a limit.
constexpr std::int64_t kMostMarked = std::int64_t{1} << 30;

/// Of one element, in the order of addresses; empty: it has no data.
std::optional<std::vector<Run>> runs_of_one(const Mpi& mpi, Handle type, const Shape& shape) {
  if (shape.size <= 0) return std::vector<Run>();
  if (type == kNoHandle || mpi.uniform(type)) return std::vector<Run>{{shape.true_lower, shape.size}};
  if (std::max(shape.size, shape.true_extent) > kMostMarked) return std::nullopt;
  const std::vector<std::byte> marks(static_cast<std::size_t>(shape.size), std::byte{0xff});
  std::vector<std::byte> image(static_cast<std::size_t>(shape.true_extent), std::byte{0});
  if (mpi.unpack(marks.data(), shape.size, image.data() - shape.true_lower, type) != 0) return std::nullopt;
  std::vector<Run> runs;
  for (auto at = image.begin();;) {
    at = std::find(at, image.end(), std::byte{0xff});
    if (at == image.end()) return runs;
    const auto end = std::find(at, image.end(), std::byte{0});
    runs.push_back({at - image.begin() + shape.true_lower, end - at});
    at = end;
  }
}

/// Elements one behind the other without gaps are one run.
void put_together(Runs& runs) {
  if (runs.each.size() != 1 || runs.each.front().bytes != runs.stride) return;
  runs.each.front().bytes *= runs.times;
  runs.times = 1;
}

/// Sorted, and those that touch each other are one.
void merge(std::vector<Run>& runs) {
  std::ranges::sort(runs, {}, &Run::first);
  std::size_t last = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    Run& before = runs[last];
    if (runs[i].first <= before.first + before.bytes)
      before.bytes = std::max(before.bytes, runs[i].first + runs[i].bytes - before.first);
    else
      runs[++last] = runs[i];
  }
  if (!runs.empty()) runs.resize(last + 1);
}

}  // namespace

std::int64_t Runs::bytes() const {
  std::int64_t all = 0;
  for (const Run& run : each) all += run.bytes;
  return all * times;
}

std::optional<std::vector<Runs>> runs_of(const Mpi& mpi, const Elements& elements) {
  std::vector<Runs> found;
  Runs single;  // blocks that are one run each
  std::vector<Run> one;
  Handle of = kNoHandle;
  bool known = false;
  const bool taken = visit_blocks(mpi, elements, [&](const Block& block) {
    if (!known || block.type != of) {
      auto made = runs_of_one(mpi, block.type, block.shape);
      if (!made) return false;
      one = std::move(*made);
      of = block.type;
      known = true;
    }
    if (one.empty()) return true;
    Runs runs{one, block.count, block.shape.extent};
    for (Run& run : runs.each) run.first += block.begin;
    put_together(runs);
    if (runs.times == 1)
      single.each.insert(single.each.end(), runs.each.begin(), runs.each.end());
    else
      found.push_back(std::move(runs));
    return true;
  });
  if (!taken) return std::nullopt;
  merge(single.each);
  if (!single.each.empty()) found.push_back(std::move(single));
  return found;
}

}  // namespace sennit::shim::mpi
