// Exchange by packets: every message goes to its receiver with its own flags. One crossing of the link and no
// barrier: what small messages want.
//
// 1. Each block takes its part of every message; the epoch chooses one of its two places at every peer.
// 2. It sends every peer the part of its message; an empty one where there is no message.
// 3. It keeps the part of the message to itself, and waits for those of all peers.
//
// A part is sent before one is kept in its place, by the same thread: an all-to-all may work in place. Places
// alternate as in allreduce_one_shot_packets.h, which says why at least one packet is always sent.
#pragma once

#include "coll/exchange.h"

namespace sennit::coll {

struct ExchangePackets {
  static constexpr const char* kName = "exchange_packets";
  static constexpr bool kEarly = true;
  enum WaitId : device::Word { kParts = 37 };
  Exchange exchange;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const unsigned b = block.index();
    BlockCounts& counts = team.counts[b];  // 1.
    const std::uint64_t epoch = block.load(&counts.epoch) + 1;
    const device::PacketUse use = Team::use_of(epoch);

    const auto send = [&](unsigned k) -> device::PacketSend {  // 2.
      const int peer = team.peer(k);
      const Exchange::Message& with = exchange.with[peer];
      const auto part = device::part_at(with.sent, with.block_sent, b);
      return {with.from + part.begin, team.packets(peer, team.rank, b), part.bytes()};
    };
    block.send_packets(team.peers(), send, use);

    if (const Exchange::Message& own = exchange.with[team.rank]; own.from != own.to) {  // 3.
      const auto part = device::part_at(own.sent, own.block_sent, b);
      block.copy(own.to + part.begin, own.from + part.begin, part.bytes());
    }
    const auto receive = [&](unsigned k) -> device::PacketReceive {
      const int peer = team.peer(k);
      const Exchange::Message& with = exchange.with[peer];
      const auto part = device::part_at(with.received, with.block_received, b);
      return {team.packets(team.rank, peer, b), with.to + part.begin, part.bytes(), peer};
    };
    if (!block.receive_packets(team.peers(), receive, use, kParts)) return;
    block.store(&counts.epoch, epoch);
  }
};

}  // namespace sennit::coll
