// Reduce-scatter by packets: every rank sends each peer the input for it, and reduces what it gets. One crossing of
// the link and no barrier: what small messages want.
//
// 1. Each block takes its part of every rank's message; the epoch chooses one of its two places at every peer.
// 2. It sends each peer the part of that peer's message.
// 3. It waits for the parts of its own, and reduces them in the order of ranks.
//
// Places alternate as in allreduce_one_shot_packets.h, which says why at least one packet is always sent.
#pragma once

#include "coll/reduce_call.h"

namespace sennit::coll {

struct ReduceScatterPackets {
  static constexpr const char* kName = "reduce_scatter_packets";
  static constexpr bool kEarly = true;
  enum WaitId : device::Word { kParts = 36 };
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const unsigned b = block.index();
    const auto part = device::part_at(call.bytes, call.partition.each, b);  // 1.
    BlockCounts& counts = team.counts[b];
    const std::uint64_t epoch = block.load(&counts.epoch) + 1;
    const device::PacketUse use = Team::use_of(epoch);

    const auto send = [&](unsigned k) -> device::PacketSend {  // 2.
      const int peer = team.peer(k);
      return {call.input_for(peer) + part.begin, team.packets(peer, team.rank, b), part.bytes()};
    };
    block.send_packets(team.peers(), send, use);

    const auto source = [&](unsigned k) { return team.source(static_cast<int>(k), b); };  // 3.
    const bool reduced = block.reduce_packets(
        {call.input_for(team.rank) + part.begin, call.output + part.begin, part.bytes(), team.ranks(), 0}, source,
        device::NoTakers{}, use, kParts, call.reduction, whole(team.size));
    if (reduced) block.store(&counts.epoch, epoch);
  }
};

}  // namespace sennit::coll
