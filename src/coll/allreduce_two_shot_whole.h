// Allreduce, two shots, through scratch, of a message whose parts each fit into a slot: it works as
// allreduce_two_shot.h does, but blocks meet instead of counting chunks and telling each other of room. That takes
// fewer waits: it is for the sizes between packets and long pipelines.
//
// 1. Each block takes its part of every slice: that of every peer's goes into the peer's slot for what is scattered.
// 2. It meets the block of every rank: all has come.
// 3. It reduces the part of its own slice, from all ranks in their order, into its output and into every peer's slot
//    for what is gathered.
// 4. It meets them again: all results have come.
// 5. It copies them into its output.
//
// Slots need no second set. A rank that begins the next call has passed 4, so that every peer has done 3 and reads no
// more of what was scattered; one that comes to 3 of the next call has passed its 2, to which peers come after 5.
#pragma once

#include "coll/meeting.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct AllreduceTwoShotWhole {
  static constexpr const char* kName = "allreduce_two_shot_whole";
  static constexpr bool kEarly = true, kManyBlocks = true;
  enum WaitId : device::Word { kUse = 51, kAllSent = 52, kAllReduced = 53 };
  static unsigned slices(int ranks) { return static_cast<unsigned>(ranks); }
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Meetings meetings(block, team);
    if (!meetings.own_all_slots(use_of_slots(Layout::direct, Way::push, in_two_shots(block.count())), kUse)) return;
    // One of each peer for what is scattered, one for what is gathered.
    const auto slot = [&](int at, int from, device::Word which) {
      return team.shared_slot(at, from, block.index(), block.count(), which);
    };
    const SliceChunks slices(call.bytes, call.partition, block.index(), call.partition.slice);  // one chunk of each
    block.copy_each(team.peers(), [&](unsigned k) -> device::Copy {                             // 1.
      const auto part = slices.of(team.peer(k), 0);
      return {slot(team.peer(k), team.rank, 0), call.input + part.begin, part.bytes()};
    });
    if (!meetings.meet(kAllSent)) return;  // 2.
    const auto own = slices.of(team.rank, 0);
    const auto source = [&](unsigned from) -> const std::byte* {  // 3.
      const int rank = static_cast<int>(from);
      return rank == team.rank ? call.input + own.begin : slot(team.rank, rank, 0);
    };
    const auto destination = [&](unsigned k) {
      return k == 0 ? call.output + own.begin : slot(team.peer(k - 1), team.rank, 1);
    };
    block.reduce({own.bytes(), team.ranks(), team.ranks()}, source, destination, call.reduction, whole(team.size));
    if (!meetings.meet(kAllReduced)) return;                         // 4.
    block.copy_each(team.peers(), [&](unsigned k) -> device::Copy {  // 5.
      const auto part = slices.of(team.peer(k), 0);
      return {call.output + part.begin, slot(team.rank, team.peer(k), 1), part.bytes()};
    });
  }
};

}  // namespace sennit::coll
