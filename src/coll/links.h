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

  // Number i of the parallel calls below is about peer i / 2: even ones are about what it sends, odd ones about what
  // we send to it.
  SENNIT_DEVICE Links(Block& block, const Team& team)
      : block_(block), team_(team), counts_(block.template shared<Counts>()), kept_(team.counts[block.index()]) {
    block.each(both(),
               [&](unsigned i) { count(i) = block.load(i % 2 == 0 ? &kept_.taken[i / 2] : &kept_.sent[i / 2]); });
  }

  /// Waits for a chunk from each of `arrivals` and for room for one to each of `rooms`. False: give up, at once.
  SENNIT_DEVICE bool await(Peers arrivals, Peers rooms) {
    return block_.await_each(both(), [&](unsigned i) -> device::Wait {
      const int peer = static_cast<int>(i / 2);
      if (i % 2 == 0 && arrivals.has(peer))
        return {team_.produced(team_.rank, peer, block_.index()), count(i) + 1, kArrival, peer};
      if (i % 2 == 1 && rooms.has(peer))
        return {team_.consumed(team_.rank, peer, block_.index()), count(i) + 1 - kSlots, kRoom, peer};
      return {};
    });
  }
  SENNIT_DEVICE bool await_room(Peers peers) { return await(Peers::none(), peers); }
  SENNIT_DEVICE bool await_arrival(Peers peers) { return await(peers, Peers::none()); }

  // After a wait: the counts are as the threads that keep them left them then.
  SENNIT_DEVICE std::byte* outgoing(int rank) const {
    return team_.slot(rank, team_.rank, block_.index(), counts_.sent[rank]);
  }
  SENNIT_DEVICE const std::byte* incoming(int rank) const {
    return team_.slot(team_.rank, rank, block_.index(), counts_.taken[rank]);
  }

  /// A chunk has been written to each of `sent`, and the chunk of each of `taken` has been read.
  SENNIT_DEVICE void advance(Peers sent, Peers taken) {
    block_.signal_each(both(), [&](unsigned i) -> device::Signal {
      const int peer = static_cast<int>(i / 2);
      if (i % 2 == 0 && taken.has(peer)) return {team_.consumed(peer, team_.rank, block_.index()), ++count(i)};
      if (i % 2 == 1 && sent.has(peer)) return {team_.produced(peer, team_.rank, block_.index()), ++count(i)};
      return {};
    });
  }

  /// The last thing a program does: keeps the counts for the next.
  SENNIT_DEVICE void finish() {
    block_.each(both(), [&](unsigned i) { (i % 2 == 0 ? kept_.taken[i / 2] : kept_.sent[i / 2]) = count(i); });
  }

 private:
  struct Counts {
    device::Word sent[kMostRanks], taken[kMostRanks];
  };
  SENNIT_DEVICE unsigned both() const { return 2 * static_cast<unsigned>(team_.size); }
  SENNIT_DEVICE device::Word& count(unsigned i) const {
    return i % 2 == 0 ? counts_.taken[i / 2] : counts_.sent[i / 2];
  }

  Block& block_;
  const Team& team_;
  Counts& counts_;     // of the block
  BlockCounts& kept_;  // from launch to launch
};

}  // namespace sennit::coll
