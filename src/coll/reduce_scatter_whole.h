// Reduce-scatter, direct, through scratch, of messages whose parts each fit into a slot: as reduce_scatter_direct.h,
// but that blocks meet, instead of counting chunks and telling each other of room. Fewer waits.
//
// 1. Each block takes its part of every rank's message: that for a peer goes into the peer's slot.
// 2. It meets the block of every rank: all has come.
// 3. It reduces the part of its own message from all ranks, in their order, into its output.
//
// Slots are taken in turn: see exchange_whole.h.
#pragma once

#include "coll/meeting.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct ReduceScatterWhole {
  static constexpr const char* kName = "reduce_scatter_whole";
  static constexpr bool kEarly = true, kManyBlocks = true;
  enum Site : device::Word { kUse = 56, kAllSent = 57 };
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Meetings meetings(block, team);
    if (!meetings.own_the_slots(use_of_slots(Layout::direct, Way::push, kInOneShot), kUse)) return;
    const device::Word turn = meetings.next();
    const auto slot = [&](int at, int from) { return team.slot(Layout::direct, at, from, block.index(), turn); };
    const auto part = device::part_at(call.cut.slice, call.cut.each, block.index());
    block.copy_each(team.peers(), [&](unsigned k) -> device::Copy {  // 1.
      const int peer = team.peer(k);
      return {slot(peer, team.rank), call.input_for(peer) + part.begin, part.bytes()};
    });
    if (!meetings.meet(kAllSent)) return;                         // 2.
    const auto source = [&](unsigned from) -> const std::byte* {  // 3.
      const int rank = static_cast<int>(from);
      return rank == team.rank ? call.input_for(rank) + part.begin : slot(team.rank, rank);
    };
    const auto destination = [&](unsigned) { return call.output + part.begin; };
    block.reduce({part.bytes(), team.ranks(), 1}, source, destination, call.reduction, whole(team.size));
  }
};

}  // namespace sennit::coll
