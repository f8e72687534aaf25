// Broadcast down a tree, chunk by chunk: with one child a rank it is a chain, where every link carries the message
// once; with more, fewer hops and more copies a rank.
//
// 1. Ranks count from the root; number p has the numbers kp + 1 to kp + k as children, and (p - 1) / k as its parent.
// 2. Each block takes its part of the message, in chunks of at most a slot.
// 3. A chunk is waited for from the parent, then sent to every child, and kept. The chunks before are on their way
//    meanwhile.
//
// Source: TPDS paper, section 3.1, the pipelined ring (equation 2) and k-nomial (equation 6) broadcasts. The tree
// here is k-ary, so that no rank sends a chunk more than k times.
#pragma once

#include "coll/broadcast_call.h"
#include "coll/links.h"

namespace sennit::coll {

struct BroadcastTree {
  static constexpr const char* kName = "broadcast_tree";
  BroadcastCall call;
  Team team;
  int fan_out = 1;  ///< children of a rank

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const int number = (team.rank - call.root + team.size) % team.size;  // 1.
    const int parent = number == 0 ? -1 : rank_of((number - 1) / fan_out);
    Peers children = Peers::none();
    for (int child = fan_out * number + 1; child <= fan_out * (number + 1) && child < team.size; ++child)
      children = children | Peers::one(rank_of(child));
    const Peers above = parent < 0 ? Peers::none() : Peers::one(parent);
    // The sender of a chain is the rank before, whatever the root: all chains use the slots alike.
    Links<Block> links(block, team, Layout::single, Way::push,
                       fan_out == 1 ? 0 : static_cast<device::Word>(fan_out << 8 | (1 + call.root)));
    const SliceChunks message(call.bytes, call.partition, block.index(), links.room());  // 2.
    for (unsigned i = 0; i < message.count(); ++i) {                                     // 3.
      if (!links.await(above, children)) return;
      const auto chunk = message.of(0, i);
      const std::byte* const from = parent < 0 ? call.input + chunk.begin : links.incoming(parent);
      for (int turn = 1; turn < team.size; ++turn)
        if (const int peer = team.after(turn); children.has(peer))
          block.copy(links.outgoing(peer), from, chunk.bytes());
      if (std::byte* const to = call.output + chunk.begin; to != from) block.copy(to, from, chunk.bytes());
      links.advance(children, above);
    }
    links.finish();
  }

  SENNIT_DEVICE int rank_of(int number) const { return (number + call.root) % team.size; }
};

}  // namespace sennit::coll
