// Allreduce and reduce, one shot, by packets: every rank sends all of its input to every rank that wants the result,
// and each of these reduces for itself. One crossing of the link and no barrier: what small messages want.
//
// 1. Each block takes its part of the message; the epoch chooses one of its two places at every peer.
// 2. It sends the part to all peers; an empty one to those that do not want the result.
// 3. It waits for the part of every peer and reduces them, with its own, in the order of ranks; a rank that does not
//    want the result waits for empty ones.
//
// The place of an epoch may be written again two epochs later: a rank that begins epoch e has received the packets of
// e - 1 from every peer, which each peer sent only after it had read all of e - 2. That is why a block sends at least
// one packet, also of an empty part.
#pragma once

#include "coll/reduce_call.h"

namespace sennit::coll {

struct AllreduceOneShotPackets {
  static constexpr const char* kName = "allreduce_one_shot_packets";
  static constexpr bool kEarly = true;
  enum WaitId : device::Word { kParts = 11 };
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const unsigned b = block.index();
    const auto part = device::part_at(call.bytes, call.partition.each, b);  // 1.
    BlockCounts& counts = team.counts[b];
    const std::uint64_t epoch = block.load(&counts.epoch) + 1;

    const auto send = [&](unsigned k) -> device::PacketSend {  // 2.
      const int peer = team.peer(k);
      return {call.input + part.begin, team.packets(peer, team.rank, b), call.wants(peer) ? part.bytes() : 0};
    };
    block.send_packets(team.peers(), send, Team::use_of(epoch));
    const bool done = call.wants(team.rank) ? reduce(block, epoch, part) : stand_by(block, epoch);  // 3.
    if (done) block.store(&counts.epoch, epoch);
  }

  template <class Block>
  SENNIT_DEVICE bool reduce(Block& block, std::uint64_t epoch, device::Part part) const {
    const auto source = [&](unsigned k) { return team.source(static_cast<int>(k), block.index()); };
    return block.reduce_packets({call.input + part.begin, call.output + part.begin, part.bytes(), team.ranks(), 0},
                                source, device::NoTakers{}, Team::use_of(epoch), kParts, call.reduction,
                                whole(team.size));
  }

  template <class Block>
  SENNIT_DEVICE bool stand_by(Block& block, std::uint64_t epoch) const {
    const auto receive = [&](unsigned k) -> device::PacketReceive {
      const int peer = team.peer(k);
      return {team.packets(team.rank, peer, block.index()), nullptr, 0, peer};
    };
    return block.receive_packets(team.peers(), receive, Team::use_of(epoch), kParts);
  }
};

}  // namespace sennit::coll
