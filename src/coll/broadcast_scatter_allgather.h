// Broadcast, scatter then allgather, for fully connected nodes: the root sends every other rank a slice of its own,
// and each passes it on to all others. The root sends the message once instead of n - 1 times, and all ranks send.
//
// 1. The message has a slice for each rank but the root; each block takes its part of every slice, in chunks of at
//    most a slot. The steps of two chunks overlap:
// 2. the root sends each rank the chunk of that rank's slice;
// 3. a rank keeps it, and passes it on to all but the root;
// 4. it keeps the chunks that the others pass on.
//
// Source: Barnett, Shuler, van de Geijn and others, Interprocessor Collective Communication Library, 1994.
#pragma once

#include "coll/broadcast_call.h"
#include "coll/links.h"

namespace sennit::coll {

struct BroadcastScatterAllgather {
  static constexpr const char* kName = "broadcast_scatter_allgather";
  static unsigned slices(int ranks) { return static_cast<unsigned>(ranks - 1); }
  BroadcastCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::direct);
    const SliceChunks slices(call.bytes, call.partition, block.index(), links.room());  // 1.
    const bool done = team.rank == call.root ? scatter(block, slices, links) : pass_on(block, slices, links);
    if (done) links.finish();
  }

  template <class Block>
  SENNIT_DEVICE bool scatter(Block& block, const SliceChunks& slices, Links<Block>& links) const {
    const Peers peers = Peers::all_but(team.rank, team.size);
    for (unsigned step = 0; step < slices.count(); ++step) {  // 2.
      if (!links.await_room(peers)) return false;
      for (int turn = 1; turn < team.size; ++turn) {
        const int peer = team.after(turn);
        const auto chunk = slices.of(slice_of(peer), step);
        block.copy(links.outgoing(peer), call.input + chunk.begin, chunk.bytes());
      }
      links.advance(peers, Peers::none());
      for (int slice = 0; slice < team.size - 1 && call.output != call.input; ++slice) {
        const auto chunk = slices.of(slice, step);
        block.copy(call.output + chunk.begin, call.input + chunk.begin, chunk.bytes());
      }
    }
    return true;
  }

  template <class Block>
  SENNIT_DEVICE bool pass_on(Block& block, const SliceChunks& slices, Links<Block>& links) const {
    const Peers root = Peers::one(call.root);
    Peers others = Peers::none();
    for (int rank = 0; rank < team.size; ++rank)
      if (rank != team.rank && rank != call.root) others = others | Peers::one(rank);
    const unsigned chunks = slices.count();
    for (unsigned step = 0; step <= chunks && chunks != 0; ++step) {
      if (step < chunks) {  // 3.
        if (!links.await(root, others)) return false;
        const auto chunk = slices.of(slice_of(team.rank), step);
        const std::byte* const arrived = links.incoming(call.root);
        for (int turn = 1; turn < team.size; ++turn)
          if (const int peer = team.after(turn); others.has(peer))
            block.copy(links.outgoing(peer), arrived, chunk.bytes());
        block.copy(call.output + chunk.begin, arrived, chunk.bytes());
        links.advance(others, root);
      }
      if (step >= 1) {  // 4.
        if (!links.await_arrival(others)) return false;
        for (int turn = 1; turn < team.size; ++turn) {
          const int peer = team.after(turn);
          if (!others.has(peer)) continue;
          const auto chunk = slices.of(slice_of(peer), step - 1);
          block.copy(call.output + chunk.begin, links.incoming(peer), chunk.bytes());
        }
        links.advance(Peers::none(), others);
      }
    }
    return true;
  }

  /// Returns the slice of a rank that is not the root.
  SENNIT_DEVICE int slice_of(int rank) const { return rank < call.root ? rank : rank - 1; }
};

}  // namespace sennit::coll
