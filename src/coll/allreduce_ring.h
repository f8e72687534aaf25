// Allreduce, ring and segmented ring: slices travel once around for their sum, and once more as results; every link
// carries 2 (n - 1) / n of the message, whatever the number of ranks.
//
// 1. Each block takes its part of every slice, a slot's worth of each at a time: a segment, which it takes through
// both
//    rounds before the next. A message of one segment is the plain ring; more are the segmented one.
// 2. Reduce-scatter: it sends its own slice to the next rank, then n - 1 times adds its input to what comes from the
//    rank before, and passes it on. The last of these is a finished slice, which it keeps too.
// 3. Allgather: it keeps and passes on the finished slices that come, but for the last.
//
// Source: thesis chapter 2.4.2, "ring" and "segmented ring".
#pragma once

#include "coll/links.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct AllreduceRing {
  static constexpr const char* kName = "allreduce_ring";
  ReduceCall call;
  Team team;

  /// Bytes of the message that one block takes around together.
  static std::uint64_t segment_bytes(const Team& team) {
    return team.shape.slot_bytes * static_cast<unsigned>(team.size);
  }

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const SliceChunks slices(call.bytes, team.size, block.index(), block.count(), team.shape.slot_bytes);  // 1.
    const int next = team.after(1), before = team.after(team.size - 1);
    const Peers to_next = Peers::one(next), from_before = Peers::one(before);
    const int steps = team.size - 1;
    Links<Block> links(block, team);
    for (unsigned segment = 0; segment < slices.count(); ++segment) {
      if (!links.await_room(to_next)) return;  // 2.
      auto chunk = slices.of(team.rank, segment);
      device::Operands lift;
      lift.from[lift.sources++] = call.input + chunk.begin;
      lift.to[lift.destinations++] = links.outgoing(next);
      block.reduce(lift, chunk.bytes(), call.reduction, {1, false});
      links.advance(to_next, Peers::none());
      for (int step = 1; step <= steps; ++step) {
        if (!links.await(from_before, to_next)) return;
        chunk = slices.of(team.after(team.size - step), segment);
        device::Operands operands;
        operands.from[operands.sources++] = links.incoming(before);
        operands.from[operands.sources++] = call.input + chunk.begin;
        operands.to[operands.destinations++] = links.outgoing(next);
        if (step == steps) operands.to[operands.destinations++] = call.output + chunk.begin;
        block.reduce(operands, chunk.bytes(), call.reduction, {2, step == steps});
        links.advance(to_next, from_before);
      }
      for (int step = 1; step <= steps; ++step) {  // 3.
        const bool passes_on = step < steps;
        if (!links.await(from_before, passes_on ? to_next : Peers::none())) return;
        chunk = slices.of(team.after((2 * team.size + 1 - step) % team.size), segment);
        if (passes_on) block.copy(links.outgoing(next), links.incoming(before), chunk.bytes());
        block.copy(call.output + chunk.begin, links.incoming(before), chunk.bytes());
        links.advance(passes_on ? to_next : Peers::none(), from_before);
      }
    }
    links.finish();
  }
};

}  // namespace sennit::coll
