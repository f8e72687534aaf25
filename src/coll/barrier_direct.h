// Barrier, direct: everyone tells everyone. One crossing of the link, n - 1 signals a rank.
//
// 1. An empty chunk to every peer: all that this rank did before is done.
// 2. One from every peer.
#pragma once

#include "coll/links.h"

namespace sennit::coll {

struct BarrierDirect {
  static constexpr const char* kName = "barrier_direct";
  static constexpr bool kEarly = true;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const Peers peers = Peers::all_but(team.rank, team.size);
    Links<Block> links(block, team);
    if (!links.await_room(peers)) return;  // 1.
    links.advance(peers, Peers::none());
    if (!links.await_arrival(peers)) return;  // 2.
    links.advance(Peers::none(), peers);
    links.finish();
  }
};

}  // namespace sennit::coll
