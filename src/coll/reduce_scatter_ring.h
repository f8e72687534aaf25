// Reduce-scatter, ring: every rank's message travels once around to its rank, growing by one input at each; each link
// carries n - 1 messages, whatever the number of ranks.
//
// 1. Each block takes its part of every message, a slot's worth of each at a time, and takes that all the way around,
//    two in turn.
// 2. It sends the next rank its input for the rank before, whose message has the longest way.
// 3. n - 1 times it adds its input to what comes from the rank before, and passes it on; the last is its own message,
//    which it keeps.
//
// Source: thesis chapter 2.4.2, the first half of "ring".
#pragma once

#include "coll/in_turns.h"
#include "coll/links.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct ReduceScatterRing {
  static constexpr const char* kName = "reduce_scatter_ring";
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::single);
    const auto message = SliceChunks(call.bytes, call.partition, block.index(), links.room()).in_pairs();  // 1.
    const int steps = team.size - 1, next = team.after(1), before = team.after(steps);
    const Peers to_next = Peers::one(next), from_before = Peers::one(before);
    const bool done = in_turns(message.count(), steps + 1, [&](unsigned i, int step) {
      const bool begins = step == 0, ends = step == steps;
      if (!links.await(begins ? Peers::none() : from_before, ends ? Peers::none() : to_next)) return false;
      const auto chunk = message.of(0, i);
      const auto source = [&](unsigned k) -> const void* {
        return k == 0 && !begins ? links.incoming(before) : call.input_for(team.after(steps - step)) + chunk.begin;
      };
      const auto destination = [&](unsigned) { return ends ? call.output + chunk.begin : links.outgoing(next); };
      block.reduce({chunk.bytes(), begins ? 1u : 2u, 1}, source, destination, call.reduction,
                   {begins ? 1u : 2u, ends});
      links.advance(ends ? Peers::none() : to_next, begins ? Peers::none() : from_before);
      return true;
    });
    if (done) links.finish();
  }
};

}  // namespace sennit::coll
