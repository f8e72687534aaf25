// Allreduce, linear: rank 0 receives every rank's input, reduces, and sends the result to all; the thesis' reference,
// and the fewest steps where one rank is close to all others.
//
// 1. Each block takes its part of the message, in chunks of at most a slot; the steps of two chunks overlap:
// 2. every rank but 0 sends its chunk to rank 0;
// 3. rank 0 reduces the chunks in the order of ranks, into its output and to everyone;
// 4. every rank but 0 receives the finished chunk.
//
// Source: thesis chapter 2.4.2, "linear".
#pragma once

#include "coll/allreduce_call.h"
#include "coll/follow.h"

namespace sennit::coll {

struct AllreduceLinear {
  static constexpr const char* kName = "allreduce_linear";
  AllreduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const SliceChunks message(call.bytes, 1, block.index(), block.count(), team.shape.slot_bytes);  // 1.
    Links<Block> links(block, team);
    const bool done = team.rank == 0 ? reduce(block, message, links) : follow(block, call, message, links, 0);
    if (done) links.finish();
  }

  template <class Block>
  SENNIT_DEVICE bool reduce(Block& block, const SliceChunks& message, Links<Block>& links) const {
    const Peers peers = Peers::all_but(0, team.size);
    for (unsigned step = 0; step < message.count(); ++step) {  // 3.
      if (!links.await(peers, peers)) return false;
      const auto chunk = message.of(0, step);
      device::Operands operands;
      for (int rank = 0; rank < team.size; ++rank) {
        operands.from[operands.sources++] = rank == 0 ? call.input + chunk.begin : links.incoming(rank);
        operands.to[operands.destinations++] = rank == 0 ? call.output + chunk.begin : links.outgoing(rank);
      }
      block.reduce(operands, chunk.bytes(), call.reduction, whole(team.size));
      links.advance(peers, peers);
    }
    return true;
  }
};

}  // namespace sennit::coll
