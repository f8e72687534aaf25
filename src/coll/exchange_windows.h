// Exchange, windows: every rank stores straight into the peers' outputs, which lie in symmetric windows. No scratch,
// no copies.
//
// 1. Each block meets that of every rank: every output may be written.
// 2. It stores its part of every message where the receiver wants it, its own last.
// 3. It meets them again: its rank's output is whole.
//
// For allgather and all-to-all, whose every rank's message is at the same place of every output: the rank's.
#pragma once

#include "coll/exchange.h"
#include "coll/meeting.h"
#include "coll/peer_pointers.h"

namespace sennit::coll {

struct ExchangeWindows {
  static constexpr const char* kName = "exchange_windows";
  static constexpr bool kEarly = true, kManyBlocks = true;
  enum WaitId : device::Word { kBegin = 43, kEnd = 44 };
  Exchange exchange;
  Team team;
  std::byte* to[kMostRanks];  ///< by rank: where it gets this rank's message

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Meetings meetings(block, team);
    if (!meetings.meet(kBegin)) return;                              // 1.
    block.copy_each(team.ranks(), [&](unsigned k) -> device::Copy {  // 2.
      const int rank = k < team.peers() ? team.peer(k) : team.rank;
      const Exchange::Message& message = exchange.with[rank];
      const auto part = device::part_at(message.sent, message.block_sent, block.index());
      const bool stays = message.from == to[rank];
      return {to[rank] + part.begin, message.from + part.begin, stays ? 0 : part.bytes()};
    });
    (void)meetings.meet(kEnd);  // 3.
  }
};

}  // namespace sennit::coll
