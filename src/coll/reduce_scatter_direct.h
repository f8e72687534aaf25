// Reduce-scatter, direct, through scratch: every rank sends each peer the input for it, and reduces what it gets;
// each byte crosses one link once. The first half of allreduce_two_shot.h; and an allreduce in one shot, where the
// input for every rank is the same: all of it.
//
// 1. Each block takes its part of every rank's slice, in chunks of at most a slot; the steps of two chunks overlap:
// 2. scatter: the chunk of every peer's slice, to that peer;
// 3. reduce: the chunks of its own slice from all ranks, in their order.
#pragma once

#include "coll/links.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct ReduceScatterDirect {
  static constexpr const char* kName = "reduce_scatter_direct";
  ReduceCall call;  // `bytes`: of all slices
  Team team;
  std::uint64_t result_at;  // where the output begins among the slices
  Way way = Way::push;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::direct, way);
    const SliceChunks slices(call.bytes, call.partition, block.index(), links.room());  // 1.
    const Peers peers = Peers::all_but(team.rank, team.size);
    const unsigned chunks = slices.count();
    for (unsigned step = 0; step <= chunks && chunks != 0; ++step) {
      if (step < chunks) {  // 2.
        if (!links.await_room(peers)) return;
        block.copy_each(team.peers(), [&](unsigned k) -> device::Copy {
          const auto chunk = slices.of(team.peer(k), step);
          return {links.outgoing(team.peer(k)), call.input + chunk.begin, chunk.bytes()};
        });
        links.advance(peers, Peers::none());
      }
      if (step >= 1) {  // 3.
        if (!links.await_arrival(peers)) return;
        const auto chunk = slices.of(team.rank, step - 1);
        const auto source = [&](unsigned rank) { return links.given_by(rank, call.input + chunk.begin); };
        const auto destination = [&](unsigned) { return call.output + (chunk.begin - result_at); };
        block.reduce({chunk.bytes(), team.ranks(), 1}, source, destination, call.reduction, whole(team.size));
        links.advance(Peers::none(), peers);
      }
    }
    links.finish();
  }
};

}  // namespace sennit::coll
