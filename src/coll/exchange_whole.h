// Exchange, direct, through scratch, of messages whose parts each fit into a slot: it works as exchange_direct.h
// does, but blocks meet instead of counting chunks and telling each other of room. That takes fewer waits.
//
// 1. Each block sends its part of every message, and waits until all have: slots_in_turn.h.
// 2. It copies what came, and the message to oneself, into its output.
#pragma once

#include "coll/exchange.h"
#include "coll/slots_in_turn.h"

namespace sennit::coll {

struct ExchangeWhole {
  static constexpr const char* kName = "exchange_whole";
  static constexpr bool kEarly = true, kManyBlocks = true;
  Exchange exchange;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    SlotsInTurn slots(block, team);
    const bool all_sent = slots.send([&](int peer) -> device::Copy {  // 1.
      const Exchange::Message& message = exchange.with[peer];
      const auto part = device::part_at(message.sent, message.block_sent, block.index());
      return {nullptr, message.from + part.begin, part.bytes()};
    });
    if (!all_sent) return;
    block.copy_each(team.ranks(), [&](unsigned k) -> device::Copy {  // 2.
      const int rank = k < team.peers() ? team.peer(k) : team.rank;
      const Exchange::Message& message = exchange.with[rank];
      const auto part = device::part_at(message.received, message.block_received, block.index());
      if (rank != team.rank) return {message.to + part.begin, slots.from(rank), part.bytes()};
      return {message.to + part.begin, message.from + part.begin, message.from == message.to ? 0 : part.bytes()};
    });
  }
};

}  // namespace sennit::coll
