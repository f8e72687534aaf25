// Allreduce, two shots, straight between the ranks' buffers, which lie in symmetric windows: each rank loads its
// slice from all ranks and stores the result at all ranks. No scratch, no copies. One kernel, two meetings.
//
// 1. Each block meets that of every rank: every input is whole, and every output may be written.
// 2. It takes its part of its rank's slice: loads it from every rank, in their order, and stores the result at each.
// 3. It meets them again: no rank reads its rank's input any more, and its output is whole.
//
// It works in place, too: only its own rank reads or writes a slice between the meetings.
#pragma once

#include "coll/meeting.h"
#include "coll/peer_pointers.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct AllreduceTwoShotWindows {
  static constexpr const char* kName = "allreduce_two_shot_windows";
  static constexpr bool kEarly = true, kManyBlocks = true;
  enum WaitId : device::Word { kBegin = 41, kEnd = 42 };
  static unsigned slices(int ranks) { return static_cast<unsigned>(ranks); }
  ReduceCall call;
  Team team;
  PeerPointers reach;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Meetings meetings(block, team);
    if (!meetings.meet(kBegin)) return;                                                         // 1.
    const SliceChunks slices(call.bytes, call.partition, block.index(), call.partition.slice);  // 2.
    const auto part = slices.of(team.rank, 0);
    const auto source = [&](unsigned rank) { return reach.input[rank] + part.begin; };
    // The own one last: what crosses links goes first.
    const auto destination = [&](unsigned k) {
      return reach.output[k < team.peers() ? team.peer(k) : team.rank] + part.begin;
    };
    block.reduce({part.bytes(), team.ranks(), team.ranks()}, source, destination, call.reduction, whole(team.size));
    (void)meetings.meet(kEnd);  // 3.
  }
};

}  // namespace sennit::coll
