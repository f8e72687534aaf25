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
  Way way = Way::push;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::direct, way);
    const SliceChunks message(call.bytes, call.cut, block.index(), links.room());  // 1.
    const Peers peers = Peers::all_but(team.rank, team.size);
    const unsigned chunks = message.count();
    for (unsigned step = 0; step <= chunks && chunks != 0; ++step) {
      if (step < chunks) {  // 2.
        if (!links.await_room(peers)) return;
        const auto chunk = message.of(0, step);
        block.copy_each(team.peers(), [&](unsigned k) -> device::Copy {
          return {links.outgoing(team.peer(k)), call.input_for(team.peer(k)) + chunk.begin, chunk.bytes()};
        });
        links.advance(peers, Peers::none());
      }
      if (step >= 1) {  // 3.
        if (!links.await_arrival(peers)) return;
        const auto chunk = message.of(0, step - 1);
        const std::byte* const own = call.input_for(team.rank) + chunk.begin;
        const auto source = [&](unsigned rank) { return links.given_by(rank, own); };
        const auto destination = [&](unsigned) { return call.output + chunk.begin; };
        block.reduce({chunk.bytes(), team.ranks(), 1}, source, destination, call.reduction, whole(team.size));
        links.advance(Peers::none(), peers);
      }
    }
    links.finish();
  }
};

}  // namespace sennit::coll
