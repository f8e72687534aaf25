// Allreduce, reduce-scatter by recursive halving, then allgather by recursive doubling (Rabenseifner): it takes 2
// log2(n) steps, and sends no more bytes than a ring.
//
// 1. Each block takes its part of the message, in segments of two slots, so that the half it sends first fills
//    one. It takes each segment through all steps before the next.
// 2. The input goes into the output, where the segment is worked on.
// 3. Ranks beyond a power of two give their segment to a partner and wait for the result.
// 4. Halving: in each step two ranks split what they both have; each sends the other its half and adds what comes.
// 5. Doubling: in each step, the other way round, two ranks exchange all that they have finished.
// 6. Partners get the result.
//
// Source: thesis chapter 2.4.2, "reduce-scatter-allgather".
#pragma once

#include "coll/fold.h"
#include "coll/links.h"
#include "coll/pairwise.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct AllreduceReduceScatterAllgather {
  static constexpr const char* kName = "allreduce_reduce_scatter_allgather";
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const Folded folded(team.rank, team.size);
    const auto slices = static_cast<unsigned>(folded.core_size);
    Links<Block> links(block, team, Layout::mesh);
    const std::uint64_t slice = device::in_units(2 * links.room() / slices);
    const SliceChunks message(call.bytes, call.partition, block.index(), slice * slices);  // 1.
    const Pairwise<Block> pairs{block, links, call, team.rank};
    for (unsigned i = 0; i < message.count(); ++i) {
      const auto segment = message.of(0, i);
      pairs.lift(segment);    // 2.
      if (folded.core < 0) {  // 3. and 6. of the rank that stands back
        if (!send(pairs, folded.partner, segment) || !receive(pairs, folded.partner, segment)) return;
        continue;
      }
      if (folded.partner >= 0 && !add(pairs, folded.partner, segment, false)) return;  // 3.
      if (!halve_and_double(pairs, folded, segment)) return;
      if (folded.partner >= 0 && !send(pairs, folded.partner, segment)) return;  // 6.
    }
    links.finish();
  }

  template <class Block>
  SENNIT_DEVICE bool halve_and_double(const Pairwise<Block>& pairs, const Folded& folded,
                                      device::Part segment) const {
    const int slices = folded.core_size;
    const auto range = [&](int first, int last) -> device::Part {
      const std::uint64_t each = device::part_of(segment.bytes(), 0, static_cast<unsigned>(slices)).end;
      const std::uint64_t begin = segment.begin + each * static_cast<unsigned>(first);
      const std::uint64_t end = segment.begin + each * static_cast<unsigned>(last);
      return {begin < segment.end ? begin : segment.end, end < segment.end ? end : segment.end};
    };
    int low = 0, high = slices;                                      // what this rank works on
    for (int distance = slices / 2; distance >= 1; distance /= 2) {  // 4.
      const int peer = Folded::rank_of(folded.core ^ distance, team.size, slices);
      const int middle = (low + high) / 2;
      const bool upper = (folded.core & distance) != 0;
      if (!send(pairs, peer, upper ? range(low, middle) : range(middle, high))) return false;
      (upper ? low : high) = middle;
      if (!add(pairs, peer, range(low, high), distance == 1)) return false;
    }
    for (int distance = 1; distance < slices; distance *= 2) {  // 5.
      const int peer = Folded::rank_of(folded.core ^ distance, team.size, slices);
      const bool upper = (folded.core & distance) != 0;
      const int first = upper ? low - distance : high, last = upper ? low : high + distance;
      if (!send(pairs, peer, range(low, high))) return false;
      if (!receive(pairs, peer, range(first, last))) return false;
      if (upper)
        low = first;
      else
        high = last;
    }
    return true;
  }

  /// Returns the piece of a range that fits a slot: a whole segment takes two.
  SENNIT_DEVICE device::Part piece(device::Part range, unsigned index) const {
    const std::uint64_t first = range.begin + index * team.shape.slot(Layout::mesh);
    const std::uint64_t last = first + team.shape.slot(Layout::mesh);
    return {first < range.end ? first : range.end, last < range.end ? last : range.end};
  }
  SENNIT_DEVICE unsigned pieces(device::Part range) const {
    return range.bytes() > team.shape.slot(Layout::mesh) ? 2 : 1;
  }

  template <class Block>
  SENNIT_DEVICE bool send(const Pairwise<Block>& pairs, int peer, device::Part range) const {
    for (unsigned i = 0; i < pieces(range); ++i)
      if (!pairs.send(peer, piece(range, i))) return false;
    return true;
  }
  template <class Block>
  SENNIT_DEVICE bool receive(const Pairwise<Block>& pairs, int peer, device::Part range) const {
    for (unsigned i = 0; i < pieces(range); ++i)
      if (!pairs.receive(peer, piece(range, i))) return false;
    return true;
  }
  template <class Block>
  SENNIT_DEVICE bool add(const Pairwise<Block>& pairs, int peer, device::Part range, bool last) const {
    for (unsigned i = 0; i < pieces(range); ++i)
      if (!pairs.add(peer, piece(range, i), last)) return false;
    return true;
  }
};

}  // namespace sennit::coll
