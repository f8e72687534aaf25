// Allreduce, two shots, through scratch: the flat two-stage design for fully connected nodes (each rank reduces its
// slice, then everyone sends its slice to everyone), for buffers that peers need not reach. Peers are only written
// to, never read from: stores cross a link without waiting for an answer. Reduce likewise: then only the root gets
// the slices.
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

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::mesh);
    const SliceChunks slices(call.bytes, call.cut, block.index(), links.room());  // 1.
    const Peers peers = Peers::all_but(team.rank, team.size);
    const bool takes = call.wants(team.rank);
    Peers takers = Peers::none();
    for (int turn = 1; turn < team.size; ++turn)
      if (call.wants(team.after(turn))) takers = takers | Peers::one(team.after(turn));
    const unsigned chunks = slices.count();
    for (unsigned step = 0; step < chunks + 2 && chunks != 0; ++step) {
      if (step < chunks) {  // 2.
        if (!links.await_room(peers)) return;
        for (int turn = 1; turn < team.size; ++turn) {
          const int peer = team.after(turn);
          const auto chunk = slices.of(peer, step);
          block.copy(links.outgoing(peer), call.input + chunk.begin, chunk.bytes());
        }
        links.advance(peers, Peers::none());
      }
      if (step >= 1 && step <= chunks) {  // 3.
        if (!links.await(peers, takers)) return;
        const auto chunk = slices.of(team.rank, step - 1);
        device::Operands operands;
        for (int rank = 0; rank < team.size; ++rank)
          operands.from[operands.sources++] = rank == team.rank ? call.input + chunk.begin : links.incoming(rank);
        if (takes) operands.to[operands.destinations++] = call.output + chunk.begin;
        for (int turn = 1; turn < team.size; ++turn)
          if (takers.has(team.after(turn))) operands.to[operands.destinations++] = links.outgoing(team.after(turn));
        block.reduce(operands, chunk.bytes(), call.reduction, whole(team.size));
        links.advance(takers, peers);
      }
      if (takes && step >= 2) {  // 4.
        if (!links.await_arrival(peers)) return;
        for (int turn = 1; turn < team.size; ++turn) {
          const int peer = team.after(turn);
          const auto chunk = slices.of(peer, step - 2);
          block.copy(call.output + chunk.begin, links.incoming(peer), chunk.bytes());
        }
        links.advance(Peers::none(), peers);
      }
    }
    links.finish();
  }
};

}  // namespace sennit::coll
