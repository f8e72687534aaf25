// A block's links to the same block of its peers: chunks into a ring of slots in the peer's scratch, in order, with
// counts for what has been sent and what has been taken. Every algorithm of coll/ that is not for packets is written
// with them.
//
//   Sending:    await_room(peers), write outgoing(peer) of each, advance(peers, {}).
//   Receiving:  await_arrival(peers), read incoming(peer) of each, advance({}, peers).
//
// What a peer wrote before it advanced is seen after await_arrival(); what we read before we advanced is not
// overwritten before. An algorithm sends at most kSlots chunks to a peer that the peer has not taken, or it waits.
#pragma once

#include <cstdint>

#include "coll/team.h"

namespace sennit::coll {

/// A set of ranks.
class Peers {
 public:
  SENNIT_DEVICE static Peers none() { return Peers(0); }
  SENNIT_DEVICE static Peers one(int rank) { return Peers(1u << rank); }
  SENNIT_DEVICE static Peers all_but(int rank, int size) { return Peers(((1u << size) - 1) & ~(1u << rank)); }
  SENNIT_DEVICE Peers operator|(Peers other) const { return Peers(bits_ | other.bits_); }
  SENNIT_DEVICE bool has(int rank) const { return (bits_ >> rank & 1) != 0; }

 private:
  SENNIT_DEVICE explicit Peers(unsigned bits) : bits_(bits) {}
  unsigned bits_;
};

template <class Block>
class Links {
 public:
  /// Numbers of the waits, for faults.
  enum Site : device::Word { kRoom = 1, kArrival = 2 };

  SENNIT_DEVICE Links(Block& block, const Team& team)
      : block_(block), team_(team), counts_(team.counts + block.index()) {
    for (int rank = 0; rank < team.size; ++rank) {
      sent_[rank] = block.load(&counts_->sent[rank]);
      taken_[rank] = block.load(&counts_->taken[rank]);
    }
  }

  /// Waits for a chunk from each of `arrivals` and for room for one to each of `rooms`. False: give up, at once.
  SENNIT_DEVICE bool await(Peers arrivals, Peers rooms) {
    device::Waits waits;
    for (int rank = 0; rank < team_.size; ++rank) {
      if (arrivals.has(rank))
        waits.add(team_.produced(team_.rank, rank, block_.index()), taken_[rank] + 1, kArrival, rank);
      if (rooms.has(rank))
        waits.add(team_.consumed(team_.rank, rank, block_.index()), sent_[rank] + 1 - kSlots, kRoom, rank);
    }
    return block_.await_all(waits);
  }
  SENNIT_DEVICE bool await_room(Peers peers) { return await(Peers::none(), peers); }
  SENNIT_DEVICE bool await_arrival(Peers peers) { return await(peers, Peers::none()); }

  SENNIT_DEVICE std::byte* outgoing(int rank) const {
    return team_.slot(rank, team_.rank, block_.index(), sent_[rank]);
  }
  SENNIT_DEVICE const std::byte* incoming(int rank) const {
    return team_.slot(team_.rank, rank, block_.index(), taken_[rank]);
  }

  /// A chunk has been written to each of `sent`, and the chunk of each of `taken` has been read.
  SENNIT_DEVICE void advance(Peers sent, Peers taken) {
    device::Signals signals;
    for (int step = 1; step < team_.size; ++step) {
      const int rank = team_.after(step);
      if (sent.has(rank)) signals.add(team_.produced(rank, team_.rank, block_.index()), ++sent_[rank]);
      if (taken.has(rank)) signals.add(team_.consumed(rank, team_.rank, block_.index()), ++taken_[rank]);
    }
    block_.signal_all(signals);
  }

  /// The last thing a program does: keeps the counts for the next.
  SENNIT_DEVICE void finish() {
    for (int rank = 0; rank < team_.size; ++rank) {
      block_.store(&counts_->sent[rank], sent_[rank]);
      block_.store(&counts_->taken[rank], taken_[rank]);
    }
  }

 private:
  Block& block_;
  const Team& team_;
  BlockCounts* const counts_;
  device::Word sent_[kMostRanks], taken_[kMostRanks];
};

}  // namespace sennit::coll
