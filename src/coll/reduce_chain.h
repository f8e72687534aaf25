// Reduce, chain: the message travels once along all ranks, growing by one input at each, and ends at the root; every
// link carries it once.
//
// 1. The chain begins with the rank after the root and goes from each rank to the next, as a ring does. Each block
//    takes its part of the message, in chunks of at most a slot.
// 2. A chunk is waited for from the rank before, the rank's input added, and the sum sent on; the root keeps it. The
//    chunks before are on their way meanwhile.
//
// Source: thesis chapter 2.4.2, the first half of "ring", with all slices ending at one rank.
#pragma once

#include "coll/links.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct ReduceChain {
  static constexpr const char* kName = "reduce_chain";
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::single);
    const SliceChunks message(call.bytes, call.partition, block.index(), links.room());  // 1.
    const int next = team.after(1), before = team.after(team.size - 1);
    const bool begins = before == call.root, ends = team.rank == call.root;
    const Peers from = begins ? Peers::none() : Peers::one(before), to = ends ? Peers::none() : Peers::one(next);
    for (unsigned i = 0; i < message.count(); ++i) {  // 2.
      if (!links.await(from, to)) return;
      const auto chunk = message.of(0, i);
      const auto source = [&](unsigned k) -> const void* {
        return k == 0 && !begins ? links.incoming(before) : call.input + chunk.begin;
      };
      const auto destination = [&](unsigned) { return ends ? call.output + chunk.begin : links.outgoing(next); };
      block.reduce({chunk.bytes(), begins ? 1u : 2u, 1}, source, destination, call.reduction,
                   {begins ? 1u : 2u, ends});
      links.advance(to, from);
    }
    links.finish();
  }
};

}  // namespace sennit::coll
