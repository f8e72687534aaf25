// Reduce-scatter, ring: every rank's message travels once around to its rank, growing by one input at each; each link
// carries n - 1 messages, whatever the number of ranks.
//
// 1. Each block takes its part of every message, a slot's worth of each at a time, and takes that all the way around
//    before the next.
// 2. It sends the next rank its input for the rank before, whose message has the longest way.
// 3. n - 1 times it adds its input to what comes from the rank before, and passes it on; the last is its own message,
//    which it keeps.
//
// Source: thesis chapter 2.4.2, the first half of "ring".
#pragma once

#include "coll/links.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct ReduceScatterRing {
  static constexpr const char* kName = "reduce_scatter_ring";
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const SliceChunks message(call.bytes, block.index(), block.count(), team.shape.slot_bytes);  // 1.
    const int next = team.after(1), before = team.after(team.size - 1);
    const Peers to_next = Peers::one(next), from_before = Peers::one(before);
    const int steps = team.size - 1;
    Links<Block> links(block, team);
    for (unsigned i = 0; i < message.count(); ++i) {
      const auto chunk = message.of(0, i);
      if (!links.await_room(to_next)) return;  // 2.
      device::Operands lift;
      lift.from[lift.sources++] = call.input_for(before) + chunk.begin;
      lift.to[lift.destinations++] = links.outgoing(next);
      block.reduce(lift, chunk.bytes(), call.reduction, {1, false});
      links.advance(to_next, Peers::none());
      for (int step = 1; step <= steps; ++step) {  // 3.
        const bool last = step == steps;
        if (!links.await(from_before, last ? Peers::none() : to_next)) return;
        device::Operands operands;
        operands.from[operands.sources++] = links.incoming(before);
        operands.from[operands.sources++] = call.input_for(team.after(steps - step)) + chunk.begin;
        operands.to[operands.destinations++] = last ? call.output + chunk.begin : links.outgoing(next);
        block.reduce(operands, chunk.bytes(), call.reduction, {2, last});
        links.advance(last ? Peers::none() : to_next, from_before);
      }
    }
    links.finish();
  }
};

}  // namespace sennit::coll
