// Allreduce, two shots, by packets: every rank reduces one slice of the message and sends the result to all. Each
// byte crosses the link twice, but only 2 (n - 1) / n of the message leave a rank instead of n - 1 times all of it.
//
// 1. Each block takes its part of every slice; the epoch chooses one of its two places at every peer, where each rank
//    has a share for inputs and one for results.
// 2. It sends each peer the part of that peer's slice.
// 3. It waits for the inputs of its own slice, reduces them in the order of ranks, keeps the result and sends it
//    to all.
// 4. It waits for the results of the other slices.
//
// Places alternate as in allreduce_one_shot_packets.h, which says why at least one packet is always sent.
#pragma once

#include "coll/reduce_call.h"

namespace sennit::coll {

struct AllreduceTwoShotPackets {
  static constexpr const char* kName = "allreduce_two_shot_packets";
  static constexpr bool kEarly = true;
  enum WaitId : device::Word { kInputs = 21, kResults = 22 };
  static unsigned slices(int ranks) { return static_cast<unsigned>(ranks); }
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    constexpr unsigned kInput = 0, kResult = 1, kShares = 2;
    const unsigned b = block.index();
    const SliceChunks slices(call.bytes, call.partition, b, ~std::uint64_t{0} >> 1);  // 1.
    BlockCounts& counts = team.counts[b];
    const std::uint64_t epoch = block.load(&counts.epoch) + 1;
    const device::PacketUse use = Team::use_of(epoch);

    const auto send = [&](unsigned k) -> device::PacketSend {  // 2.
      const auto part = slices.of(team.peer(k), 0);
      return {call.input + part.begin, team.packets(team.peer(k), team.rank, b, kInput, kShares), part.bytes()};
    };
    block.send_packets(team.peers(), send, use);

    const auto own = slices.of(team.rank, 0);  // 3.
    const auto source = [&](unsigned k) { return team.source(static_cast<int>(k), b, kInput, kShares); };
    const auto taker = [&](unsigned k) { return team.packets(team.peer(k), team.rank, b, kResult, kShares); };
    const bool reduced = block.reduce_packets(
        {call.input + own.begin, call.output + own.begin, own.bytes(), team.ranks(), team.peers()}, source, taker,
        use, kInputs, call.reduction, whole(team.size));
    if (!reduced) return;

    const auto receive = [&](unsigned k) -> device::PacketReceive {  // 4.
      const int peer = team.peer(k);
      const auto part = slices.of(peer, 0);
      return {team.packets(team.rank, peer, b, kResult, kShares), call.output + part.begin, part.bytes(), peer};
    };
    if (!block.receive_packets(team.peers(), receive, use, kResults)) return;
    block.store(&counts.epoch, epoch);
  }
};

}  // namespace sennit::coll
