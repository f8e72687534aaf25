// Broadcast down a tree, chunk by chunk: with one child a rank it is a chain, where every link carries the message
// once; with more, fewer hops and more copies a rank.
//
// 1. Ranks count from the root. In a k-ary tree number p has the numbers kp + 1 to kp + k as children. In a k-nomial
//    one all that have the message give it to k - 1 others in each round, the furthest first: p has the children
//    p + i d for 0 < i < k and each power d of k below p's lowest digit to the base k that is not 0; without that
//    digit it is its parent.
// 2. Each block takes its part of the message, in chunks of at most a slot.
// 3. A chunk is waited for from the parent, then sent to every child, and kept. The chunks before are on their way
//    meanwhile.
//
// Source: TPDS paper, section 3.1, the pipelined ring (equation 2) and k-nomial (equation 6) broadcasts. In a k-ary
// tree no rank sends a chunk more than k times; a k-nomial one has fewer rounds.
#pragma once

#include "coll/broadcast_call.h"
#include "coll/links.h"

namespace sennit::coll {

struct BroadcastTree {
  static constexpr const char* kName = "broadcast_tree";
  static constexpr int kKnomial = 16;  ///< more than any k: tells the patterns of both kinds of trees apart
  BroadcastCall call;
  Team team;
  int fan_out = 1;       ///< k: children of a rank
  bool knomial = false;  ///< children of a rank in each round, and one

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const int number = (team.rank - call.root + team.size) % team.size;  // 1.
    Peers children = Peers::none();
    int parent = -1;
    if (knomial) {
      for (int distance = 1; distance < team.size; distance *= fan_out) {
        if (const int digit = number % (distance * fan_out); digit != 0) {
          parent = rank_of(number - digit);
          break;
        }
        for (int i = 1; i < fan_out && number + i * distance < team.size; ++i)
          children = children | Peers::one(rank_of(number + i * distance));
      }
    } else {
      if (number > 0) parent = rank_of((number - 1) / fan_out);
      for (int child = fan_out * number + 1; child <= fan_out * (number + 1) && child < team.size; ++child)
        children = children | Peers::one(rank_of(child));
    }
    const Peers above = parent < 0 ? Peers::none() : Peers::one(parent);
    // The sender of a chain is the rank before, whatever the root: all chains use the slots alike.
    Links<Block> links(block, team, Layout::single, Way::push, pattern());
    const SliceChunks message(call.bytes, call.partition, block.index(), links.room());  // 2.
    for (unsigned i = 0; i < message.count(); ++i) {                                     // 3.
      if (!links.await(above, children)) return;
      const auto chunk = message.of(0, i);
      const std::byte* const from = parent < 0 ? call.input + chunk.begin : links.incoming(parent);
      for (int turn = 1; turn < team.size; ++turn)
        if (const int peer = team.after(knomial ? team.size - turn : turn); children.has(peer))
          block.copy(links.outgoing(peer), from, chunk.bytes());
      if (std::byte* const to = call.output + chunk.begin; to != from) block.copy(to, from, chunk.bytes());
      links.advance(children, above);
    }
    links.finish();
  }

  SENNIT_DEVICE device::Word pattern() const {
    if (fan_out == 1) return 0;
    return static_cast<device::Word>((knomial ? fan_out + kKnomial : fan_out) << 8 | (1 + call.root));
  }
  SENNIT_DEVICE int rank_of(int number) const { return (number + call.root) % team.size; }
};

}  // namespace sennit::coll
