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
  enum Site : device::Word { kParts = 41 };
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const unsigned b = block.index(), ranks = static_cast<unsigned>(team.size);
    const auto part = device::part_at(call.bytes, call.cut.each, b);  // 1.
    BlockCounts& counts = team.counts[b];
    const std::uint64_t epoch = block.load(&counts.epoch) + 1;
    const device::PacketUse use = Team::use_of(epoch);

    device::PacketSend send;  // 2.
    for (int step = 1; step < team.size; ++step) {
      const int peer = team.after(step);
      send.from[send.count] = call.input_for(peer) + part.begin;
      send.to[send.count] = team.packets(peer, b, static_cast<unsigned>(team.rank), ranks);
      send.bytes[send.count++] = part.bytes();
    }
    block.send_packets(send, use);

    device::PacketReduce reduce;  // 3.
    reduce.own = call.input_for(team.rank) + part.begin;
    reduce.result = call.output + part.begin;
    reduce.bytes = part.bytes();
    reduce.sources = ranks;
    for (int rank = 0; rank < team.size; ++rank) {
      reduce.peer[rank] = rank;
      reduce.from[rank] =
          rank == team.rank ? nullptr : team.packets(team.rank, b, static_cast<unsigned>(rank), ranks);
    }
    if (!block.reduce_packets(reduce, use, kParts, call.reduction, whole(team.size))) return;
    block.store(&counts.epoch, epoch);
  }
};

}  // namespace sennit::coll
