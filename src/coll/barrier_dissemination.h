// Barrier, dissemination: in round k every rank tells the one 2^k places after it what it has heard of so far, and
// hears from the one 2^k places before. log2(n) crossings, one signal a rank in each.
//
// 1. An empty chunk to the rank 1, 2, 4, ... places after this one, then one from the rank as many places before.
//
// Source: Hensgen, Finkel and Manber, Two algorithms for barrier synchronization, 1988.
#pragma once

#include "coll/links.h"

namespace sennit::coll {

struct BarrierDissemination {
  static constexpr const char* kName = "barrier_dissemination";
  static constexpr bool kEarly = true;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team);
    for (int distance = 1; distance < team.size; distance *= 2) {  // 1.
      const Peers to = Peers::one(team.after(distance)), from = Peers::one(team.after(team.size - distance));
      if (!links.await_room(to)) return;
      links.advance(to, Peers::none());
      if (!links.await_arrival(from)) return;
      links.advance(Peers::none(), from);
    }
    links.finish();
  }
};

}  // namespace sennit::coll
