// Reduce-scatter, direct, through scratch: every rank sends each peer the input for it, and reduces what it gets;
// each byte crosses one link once. The first half of allreduce_two_shot.h.
//
// 1. Each block takes its part of every rank's message, in chunks of at most a slot; the steps of two chunks overlap:
// 2. scatter: the chunk of every peer's message, to that peer;
// 3. reduce: the chunks of its own message from all ranks, in their order.
#pragma once

#include "coll/links.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct ReduceScatterDirect {
  static constexpr const char* kName = "reduce_scatter_direct";
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::direct);
    const SliceChunks message(call.bytes, call.cut, block.index(), links.room());  // 1.
    const Peers peers = Peers::all_but(team.rank, team.size);
    const unsigned chunks = message.count();
    for (unsigned step = 0; step <= chunks && chunks != 0; ++step) {
      if (step < chunks) {  // 2.
        if (!links.await_room(peers)) return;
        const auto chunk = message.of(0, step);
        for (int turn = 1; turn < team.size; ++turn) {
          const int peer = team.after(turn);
          block.copy(links.outgoing(peer), call.input_for(peer) + chunk.begin, chunk.bytes());
        }
        links.advance(peers, Peers::none());
      }
      if (step >= 1) {  // 3.
        if (!links.await_arrival(peers)) return;
        const auto chunk = message.of(0, step - 1);
        device::Operands operands;
        for (int rank = 0; rank < team.size; ++rank)
          operands.from[operands.sources++] =
              rank == team.rank ? call.input_for(rank) + chunk.begin : links.incoming(rank);
        operands.to[operands.destinations++] = call.output + chunk.begin;
        block.reduce(operands, chunk.bytes(), call.reduction, whole(team.size));
        links.advance(Peers::none(), peers);
      }
    }
    links.finish();
  }
};

}  // namespace sennit::coll
