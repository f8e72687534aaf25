// Allreduce and reduce, linear: a root (rank 0 of an allreduce) receives every rank's input and reduces; an allreduce
// then sends the result to all. The thesis' reference, and the fewest steps where one rank is close to all others.
//
// 1. Each block takes its part of the message, in chunks of at most a slot; the steps of two chunks overlap:
// 2. every other rank sends its chunk to the root;
// 3. the root reduces the chunks in the order of ranks, into its output and, in an allreduce, to everyone;
// 4. each rank that wants the result receives the finished chunk.
//
// Source: thesis chapter 2.4.2, "linear".
#pragma once

#include "coll/follow.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct AllreduceLinear {
  static constexpr const char* kName = "allreduce_linear";
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const bool for_all = call.root == kEveryRank;
    Links<Block> links(block, team, for_all ? Layout::mesh : Layout::direct);
    const SliceChunks message(call.bytes, call.partition, block.index(), links.room());  // 1.
    const int root = for_all ? 0 : call.root;
    const bool done =
        team.rank == root ? reduce(block, message, links) : follow(block, call, message, links, team.rank, root);
    if (done) links.finish();
  }

  template <class Block>
  SENNIT_DEVICE bool reduce(Block& block, const SliceChunks& message, Links<Block>& links) const {
    const Peers peers = Peers::all_but(team.rank, team.size);
    const Peers takers = call.root == kEveryRank ? peers : Peers::none();
    for (unsigned step = 0; step < message.count(); ++step) {  // 3.
      if (!links.await(peers, takers)) return false;
      const auto chunk = message.of(0, step);
      const auto source = [&](unsigned rank) { return links.given_by(rank, call.input + chunk.begin); };
      const auto destination = [&](unsigned k) {
        return k == 0 ? call.output + chunk.begin : links.outgoing(takers.at(k - 1));
      };
      block.reduce({chunk.bytes(), team.ranks(), 1 + takers.count()}, source, destination, call.reduction,
                   whole(team.size));
      links.advance(takers, peers);
    }
    return true;
  }
};

}  // namespace sennit::coll
