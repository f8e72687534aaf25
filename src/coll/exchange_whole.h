// Exchange, direct, through scratch, of messages whose parts each fit into a slot: as exchange_direct.h, but that
// blocks meet, instead of counting chunks and telling each other of room. Fewer waits.
//
// 1. Each block takes its part of every message: that for a peer goes into the peer's slot.
// 2. It meets the block of every rank: all has come.
// 3. It copies what came, and the message to oneself, into its output.
//
// Of a peer's two slots they take one and the other in turn, as meetings are counted. Who writes into one again has
// passed the meeting in between, to which peers come after 3.
#pragma once

#include "coll/exchange.h"
#include "coll/meeting.h"

namespace sennit::coll {

struct ExchangeWhole {
  static constexpr const char* kName = "exchange_whole";
  static constexpr bool kEarly = true, kManyBlocks = true;
  enum Site : device::Word { kUse = 54, kAllSent = 55 };
  Exchange exchange;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Meetings meetings(block, team);
    if (!meetings.own_the_slots(use_of_slots(Layout::direct, Way::push, kInOneShot), kUse)) return;
    const device::Word turn = meetings.next();
    const auto slot = [&](int at, int from) { return team.slot(Layout::direct, at, from, block.index(), turn); };
    block.copy_each(team.peers(), [&](unsigned k) -> device::Copy {  // 1.
      const int peer = team.peer(k);
      const Exchange::Message& message = exchange.with[peer];
      const auto part = device::part_at(message.sent, message.block_sent, block.index());
      return {slot(peer, team.rank), message.from + part.begin, part.bytes()};
    });
    if (!meetings.meet(kAllSent)) return;                            // 2.
    block.copy_each(team.ranks(), [&](unsigned k) -> device::Copy {  // 3.
      const int rank = k < team.peers() ? team.peer(k) : team.rank;
      const Exchange::Message& message = exchange.with[rank];
      const auto part = device::part_at(message.received, message.block_received, block.index());
      if (rank != team.rank) return {message.to + part.begin, slot(team.rank, rank), part.bytes()};
      return {message.to + part.begin, message.from + part.begin, message.from == message.to ? 0 : part.bytes()};
    });
  }
};

}  // namespace sennit::coll
