// Allreduce, two shots, by packets: every rank reduces one slice of the message and sends the result to all. Each
// byte crosses the link twice, but only 2 (n - 1) / n of the message leave a rank instead of n - 1 times all of it.
//
// 1. Each block takes its part of every slice; the epoch chooses one of its two places at every peer, half for
//    inputs, half for results.
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
  enum Site : device::Word { kInputs = 21, kResults = 22 };
  static unsigned slices(int ranks) { return static_cast<unsigned>(ranks); }
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const unsigned b = block.index(), ranks = static_cast<unsigned>(team.size);
    const auto me = static_cast<unsigned>(team.rank);
    const SliceChunks slices(call.bytes, call.cut, b, ~std::uint64_t{0} >> 1);  // 1.
    BlockCounts& counts = team.counts[b];
    const std::uint64_t epoch = block.load(&counts.epoch) + 1;
    const device::PacketUse use = Team::use_of(epoch);

    device::PacketSend send;  // 2.
    for (int step = 1; step < team.size; ++step) {
      const int peer = team.after(step);
      const auto part = slices.of(peer, 0);
      send.from[send.count] = call.input + part.begin;
      send.to[send.count] = team.packets(peer, b, me, 2 * ranks);
      send.bytes[send.count++] = part.bytes();
    }
    block.send_packets(send, use);

    device::PacketReduce reduce;  // 3.
    const auto own = slices.of(team.rank, 0);
    reduce.own = call.input + own.begin;
    reduce.result = call.output + own.begin;
    reduce.bytes = own.bytes();
    reduce.sources = ranks;
    for (int rank = 0; rank < team.size; ++rank) {
      reduce.peer[rank] = rank;
      reduce.from[rank] =
          rank == team.rank ? nullptr : team.packets(team.rank, b, static_cast<unsigned>(rank), 2 * ranks);
    }
    for (int step = 1; step < team.size; ++step)
      reduce.to[reduce.destinations++] = team.packets(team.after(step), b, ranks + me, 2 * ranks);
    if (!block.reduce_packets(reduce, use, kInputs, call.reduction, whole(team.size))) return;

    device::PacketReceive receive;  // 4.
    for (int step = 1; step < team.size; ++step) {
      const int peer = team.after(step);
      const auto part = slices.of(peer, 0);
      receive.peer[receive.count] = peer;
      receive.from[receive.count] = team.packets(team.rank, b, ranks + static_cast<unsigned>(peer), 2 * ranks);
      receive.to[receive.count] = call.output + part.begin;
      receive.bytes[receive.count++] = part.bytes();
    }
    if (!block.receive_packets(receive, use, kResults)) return;
    block.store(&counts.epoch, epoch);
  }
};

}  // namespace sennit::coll
