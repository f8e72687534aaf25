// Allreduce, hierarchical, in three stages: only leaders, the lowest rank of each socket, send across. It is for
// nodes whose sockets are joined by less than what joins the GPUs of one.
//
// 1. Each block takes its part of the message, in chunks of at most a slot; a member's steps of two chunks overlap:
// 2. members send their chunk to the leader of their socket, which reduces them in the order of ranks;
// 3. leaders exchange the sums of their sockets and reduce them in the order of sockets, so that all get equal
//    bits;
// 4. leaders send the result to their members.
//
// Source: IEEE Micro paper, the hierarchical design; thesis chapter 5.
#pragma once

#include "coll/follow.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct AllreduceHierarchical {
  static constexpr const char* kName = "allreduce_hierarchical";
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::mesh);
    const SliceChunks message(call.bytes, call.partition, block.index(), links.room());  // 1.
    const int leader = team.leader_of(team.rank);
    const bool done =
        leader == team.rank ? lead(block, message, links) : follow(block, call, message, links, team.rank, leader);
    if (done) links.finish();
  }

  template <class Block>
  SENNIT_DEVICE bool lead(Block& block, const SliceChunks& message, Links<Block>& links) const {
    Peers members = Peers::none(), leaders = Peers::none();
    for (int rank = 0; rank < team.size; ++rank) {
      if (rank == team.rank) continue;
      if (team.leader_of(rank) == team.rank)
        members = members | Peers::one(rank);
      else if (team.leader_of(rank) == rank)
        leaders = leaders | Peers::one(rank);
    }
    const Peers self = Peers::one(team.rank);
    const bool alone = leaders.count() == 0;
    for (unsigned i = 0; i < message.count(); ++i) {
      const auto chunk = message.of(0, i);
      std::byte* const result = call.output + chunk.begin;
      // With a single socket its sum is the result.
      const Peers next = alone ? members : leaders;
      if (!links.await(members, next)) return false;
      const auto number = [&](unsigned k) {  // 2.
        return links.given_by((members | self).at(k), call.input + chunk.begin);
      };
      const auto onward = [&](unsigned k) { return k == 0 ? result : links.outgoing(next.at(k - 1)); };
      const unsigned numbers = 1 + members.count();
      block.reduce({chunk.bytes(), numbers, 1 + next.count()}, number, onward, call.reduction,
                   {(1u << numbers) - 1, alone});
      links.advance(next, members);
      if (alone) continue;

      if (!links.await(leaders, members)) return false;
      const auto sum = [&](unsigned k) { return links.given_by((leaders | self).at(k), result); };  // 3. and 4.
      const auto back = [&](unsigned k) { return k == 0 ? result : links.outgoing(members.at(k - 1)); };
      block.reduce({chunk.bytes(), 1 + leaders.count(), 1 + members.count()}, sum, back, call.reduction, {0, true});
      links.advance(members, leaders);
    }
    return true;
  }
};

}  // namespace sennit::coll
