// Takes one step in which every rank sends each peer a message whose parts fit a slot, for programs whose blocks
// meet.
//
// 1. Each block stores its part of every message into a slot of the peer.
// 2. It meets the block of every rank: all has come.
//
// Of a peer's two slots they take one and the other in turn, as meetings are counted. A rank that writes into one
// again has passed the meeting in between, to which peers come after they have read it.
#pragma once

#include "coll/meeting.h"

namespace sennit::coll {

template <class Block>
class SlotsInTurn {
 public:
  enum WaitId : device::Word { kUse = 54, kAllSent = 55 };

  SENNIT_DEVICE SlotsInTurn(Block& block, const Team& team) : block_(block), team_(team), meetings_(block, team) {}

  /// Sends, once a launch. `message(peer)`: a Copy without a place to go. False: give up, at once.
  template <class Message>
  SENNIT_DEVICE bool send(Message message) {
    if (!meetings_.own_all_slots(use_of_slots(Layout::direct, Way::push, in_one_shot(block_.count())), kUse))
      return false;
    turn_ = meetings_.next();
    block_.copy_each(team_.peers(), [&](unsigned k) -> device::Copy {  // 1.
      const int peer = team_.peer(k);
      device::Copy sent = message(peer);
      sent.to = slot(peer, team_.rank);
      return sent;
    });
    return meetings_.meet(kAllSent);  // 2.
  }

  /// Returns what `peer` has sent, after send().
  SENNIT_DEVICE const std::byte* from(int peer) const { return slot(team_.rank, peer); }

 private:
  SENNIT_DEVICE std::byte* slot(int at, int from) const {
    return team_.shared_slot(at, from, block_.index(), block_.count(), turn_);
  }

  Block& block_;
  const Team& team_;
  Meetings<Block> meetings_;
  device::Word turn_ = 0;
};

}  // namespace sennit::coll
