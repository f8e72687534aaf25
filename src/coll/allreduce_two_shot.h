// Allreduce, two shots, through scratch: each rank reduces its slice, then everyone sends its slice to everyone. It
// is the flat two-stage design for fully connected nodes, for buffers that peers need not reach. Chunks are stored
// into the peers' slots, since stores cross a link without waiting for an answer; or, by Way::pull, they lie in the
// rank's own, and peers load them. Reduce likewise: then only the root gets the slices.
//
// 1. Each block takes its part of every slice, in chunks of at most a slot. Three steps overlap:
// 2. scatter: the chunk of every peer's slice, to that peer;
// 3. reduce: the chunks of its own slice from all ranks, in their order, into its output and to every peer
//    that wants the result;
// 4. gather: the finished chunks of the other slices, from the peers, into its output.
//
// Of one block's chunks at most four are under way to a peer: two that were scattered and two that were reduced.
#pragma once

#include "coll/links.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct AllreduceTwoShot {
  static constexpr const char* kName = "allreduce_two_shot";
  static unsigned slices(int ranks) { return static_cast<unsigned>(ranks); }
  ReduceCall call;
  Team team;
  Way way = Way::push;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::mesh, way);
    const SliceChunks slices(call.bytes, call.partition, block.index(), links.room());  // 1.
    const Peers peers = Peers::all_but(team.rank, team.size);
    const bool takes = call.wants(team.rank);
    const bool everyone = call.root == kEveryRank;
    const Peers takers = everyone ? peers : takes ? Peers::none() : Peers::one(call.root);
    const unsigned chunks = slices.count();
    for (unsigned step = 0; step < chunks + 2 && chunks != 0; ++step) {
      if (step < chunks) {  // 2.
        if (!links.await_room(peers)) return;
        block.copy_each(team.peers(), [&](unsigned k) -> device::Copy {
          const auto chunk = slices.of(team.peer(k), step);
          return {links.outgoing(team.peer(k)), call.input + chunk.begin, chunk.bytes()};
        });
        links.advance(peers, Peers::none());
      }
      if (step >= 1 && step <= chunks) {  // 3.
        if (!links.await(peers, takers)) return;
        const auto chunk = slices.of(team.rank, step - 1);
        const auto source = [&](unsigned rank) { return links.given_by(rank, call.input + chunk.begin); };
        const unsigned own = takes ? 1 : 0;
        const auto destination = [&](unsigned k) {
          return k < own ? call.output + chunk.begin : links.outgoing(everyone ? team.peer(k - own) : call.root);
        };
        block.reduce({chunk.bytes(), team.ranks(), own + takers.count()}, source, destination, call.reduction,
                     whole(team.size));
        links.advance(takers, peers);
      }
      if (takes && step >= 2) {  // 4.
        if (!links.await_arrival(peers)) return;
        block.copy_each(team.peers(), [&](unsigned k) -> device::Copy {
          const auto chunk = slices.of(team.peer(k), step - 2);
          return {call.output + chunk.begin, links.incoming(team.peer(k)), chunk.bytes()};
        });
        links.advance(Peers::none(), peers);
      }
    }
    links.finish();
  }
};

}  // namespace sennit::coll
