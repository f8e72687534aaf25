#include "shim/mpi/call/message_size.h"

#include <algorithm>

namespace sennit::shim::mpi {

namespace {

/// Returns whether each block of a buffer is a message of the same length, which is then the call's.
bool has_equal_blocks(const Call& call) {
  switch (call.family) {
    case Family::Reduce_scatter_block:
    case Family::Allgather:
    case Family::Gather:
    case Family::Scatter:
    case Family::Alltoall:
    case Family::Neighbor_allgather:
    case Family::Neighbor_alltoall: return true;
    case Family::Reduce_scatter: {
      const Elements& all = call.parts[0].elements;
      for (int block = 1; block < all.blocks; ++block)
        if (all.count_of(block) != all.count_of(0)) return false;
      return true;
    }
    default: return false;
  }
}

std::int64_t bytes_of(const Mpi& mpi, Elements elements, int blocks) {
  elements.blocks = blocks;
  std::int64_t bytes = 0;
  const bool taken = visit_blocks(mpi, elements, [&](const Block& block) {
    bytes += block.count * block.shape.size;
    return true;
  });
  return taken ? bytes : 0;
}

/// Between two groups the root's side looks at one buffer alone, and the other may be anything.
bool is_looked_at(const Call& call, int index) {
  if (call.count < 2 || !call.place().inter || !call.mpi.is_inter_root(call.root)) return true;
  const bool gives = call.family == Family::Scatter || call.family == Family::Scatterv;
  return index == (gives ? 0 : 1);
}

}  // namespace

std::uint64_t message_size(const Call& call) {
  const bool equal = has_equal_blocks(call);
  // Bytes are room for data, as MPI_Pack's, where the other buffer says what that is.
  const bool typed = std::ranges::any_of(
      call.all(), [](const Part& part) { return part.elements.type != kNoHandle || part.elements.types != nullptr; });
  std::int64_t longest = 0;
  for (int i = 0; i < call.count; ++i) {
    const Part& part = call.parts[static_cast<std::size_t>(i)];
    const Elements& elements = part.elements;
    if (!part.used() || call.mpi.is_in_place(part.address) || !is_looked_at(call, i)) continue;
    if (typed && elements.type == kNoHandle && elements.types == nullptr) continue;
    longest = std::max(longest, bytes_of(call.mpi, elements, equal ? std::min(elements.blocks, 1) : elements.blocks));
  }
  return static_cast<std::uint64_t>(longest);
}

}  // namespace sennit::shim::mpi
