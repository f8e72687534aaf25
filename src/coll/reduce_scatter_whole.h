// Reduce-scatter, direct, through scratch, of messages whose parts each fit into a slot: it works as
// reduce_scatter_direct.h does, but blocks meet instead of counting chunks and telling each other of room. That takes
// fewer waits. It is also an allreduce in one shot, where the input for every rank is the same: all of it.
//
// 1. Each block sends its part of every rank's message, and waits until all have: slots_in_turn.h.
// 2. It reduces the part of its own message from all ranks, in their order, into its output.
#pragma once

#include "coll/reduce_call.h"
#include "coll/slots_in_turn.h"

namespace sennit::coll {

struct ReduceScatterWhole {
  static constexpr const char* kName = "reduce_scatter_whole";
  static constexpr bool kEarly = true, kManyBlocks = true;
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const auto part = device::part_at(call.partition.slice, call.partition.each, block.index());
    const auto given_to = [&](int rank) {
      return call.input + call.partition.apart * static_cast<unsigned>(rank) + part.begin;
    };
    SlotsInTurn slots(block, team);
    if (!slots.send([&](int peer) -> device::Copy { return {nullptr, given_to(peer), part.bytes()}; })) return;  // 1.
    const auto source = [&](unsigned from) {                                                                     // 2.
      const int rank = static_cast<int>(from);
      return rank == team.rank ? given_to(rank) : slots.from(rank);
    };
    const auto destination = [&](unsigned) { return call.output + part.begin; };
    block.reduce({part.bytes(), team.ranks(), 1}, source, destination, call.reduction, whole(team.size));
  }
};

}  // namespace sennit::coll
