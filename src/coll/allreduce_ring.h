// Allreduce, ring and segmented ring: slices travel once around for their sum, and once more as results; every link
// carries 2 (n - 1) / n of the message, whatever the number of ranks.
//
// 1. Each block takes its part of every slice, a slot's worth of each at a time: a segment, which it takes through
//    both rounds, two segments in turn. A message of one segment is the plain ring; more are the segmented one.
// 2. Reduce-scatter: it sends its own slice to the next rank, then n - 1 times adds its input to what comes from the
//    rank before, and passes it on. The last of these is a finished slice, which it keeps too.
// 3. Allgather: it keeps and passes on the finished slices that come, but for the last.
//
// Source: thesis chapter 2.4.2, "ring" and "segmented ring".
#pragma once

#include "coll/in_turns.h"
#include "coll/links.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct AllreduceRing {
  static constexpr const char* kName = "allreduce_ring";
  static unsigned slices(int ranks) { return static_cast<unsigned>(ranks); }
  ReduceCall call;
  Team team;

  /// Returns the bytes of the message that one block takes around together.
  static std::uint64_t segment_bytes(const Team& team) {
    return team.shape.slot(Layout::single) * static_cast<unsigned>(team.size);
  }

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::single);
    const auto slices = SliceChunks(call.bytes, call.partition, block.index(), links.room()).in_pairs();  // 1.
    const int steps = team.size - 1, next = team.after(1), before = team.after(steps);
    const Peers to_next = Peers::one(next), from_before = Peers::one(before);
    const bool done = in_turns(slices.count(), 2 * steps + 1, [&](unsigned segment, int step) {
      const bool begins = step == 0, adds = step <= steps, sends = step < 2 * steps;
      if (!links.await(begins ? Peers::none() : from_before, sends ? to_next : Peers::none())) return false;
      const auto chunk = slices.of(team.after((2 * team.size - step) % team.size), segment);
      if (adds) {  // 2.
        const bool ends = step == steps;
        const auto source = [&](unsigned k) -> const void* {
          return k == 0 && !begins ? links.incoming(before) : call.input + chunk.begin;
        };
        const auto destination = [&](unsigned k) {
          return k == 0 ? links.outgoing(next) : call.output + chunk.begin;
        };
        block.reduce({chunk.bytes(), begins ? 1u : 2u, ends ? 2u : 1u}, source, destination, call.reduction,
                     {begins ? 1u : 2u, ends});
      } else {  // 3.
        if (sends) block.copy(links.outgoing(next), links.incoming(before), chunk.bytes());
        block.copy(call.output + chunk.begin, links.incoming(before), chunk.bytes());
      }
      links.advance(sends ? to_next : Peers::none(), begins ? Peers::none() : from_before);
      return true;
    });
    if (done) links.finish();
  }
};

}  // namespace sennit::coll
