// Links join a block to the same block of its peers: chunks go into a ring of slots in the peer's scratch, or in its
// own (see Way), in order, with counts for what has been sent and what has been taken. The algorithms that cut long
// messages into chunks are written with them.
//
//   Sending:    await_room(peers), write outgoing(peer) of each, advance(peers, {}).
//   Receiving:  await_arrival(peers), read incoming(peer) of each, advance({}, peers).
//
// What a peer wrote before it advanced is seen after await_arrival(); what we read before we advanced is not
// overwritten before. An algorithm sends at most depth_of(layout) chunks to a peer that the peer has not taken, or it
// waits.
//
// Use of the slots: a slot of one layout lies across slots of another, so a rank must not write where a block, its
// own or a peer's, still has to read a chunk of a launch that used the slots in another way. Counts do not tell. So
// where the use changes from one launch to the next, the block meets all its peers' before it sends, or ends: all
// launches before are over then, on every rank. Every rank launches the same blocks with the same use, so that all
// know when to meet. Few blocks may share the slots of all (Shape::of_launch()): that is then the use of all blocks,
// also of those that the launch has not; see Meetings::own_all_slots().
#pragma once

#include <cstdint>

#include "coll/meeting.h"
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
  SENNIT_DEVICE unsigned count() const {
    unsigned ranks = 0;
    for (unsigned bits = bits_; bits != 0; bits &= bits - 1) ++ranks;
    return ranks;
  }
  /// Returns rank number `k` of count(), from the lowest rank up.
  SENNIT_DEVICE int at(unsigned k) const {
    int rank = 0;
    for (unsigned bits = bits_; (bits & 1) == 0 || k-- != 0; bits >>= 1) ++rank;
    return rank;
  }

 private:
  SENNIT_DEVICE explicit Peers(unsigned bits) : bits_(bits) {}
  unsigned bits_;
};

template <class Block>
class Links {
 public:
  /// Numbers of the waits, for faults.
  enum WaitId : device::Word { kRoom = 1, kArrival = 2, kMeeting = 3 };

  // Number i of the parallel calls below is about peer i / 2: even ones are about what it sends, odd ones about what
  // we send to it.

  /// `pattern`: see use_of_slots().
  SENNIT_DEVICE Links(Block& block, const Team& team, Layout layout, Way way = Way::push, device::Word pattern = 0)
      : Links(block, team, use_of_slots(layout, way, team.shape.shares() ? pattern + kFewBlocks : pattern)) {}
  /// Makes links for programs that use no slots: the slots stay as they are.
  SENNIT_DEVICE Links(Block& block, const Team& team)
      : Links(block, team, block.load(&team.counts[block.index()].use)) {}

  /// Returns the room in a slot.
  SENNIT_DEVICE std::uint64_t room() const { return team_.shape.slot(layout()); }

  /// Waits for a chunk from each of `arrivals` and for room for one to each of `rooms`. False: give up, at once.
  SENNIT_DEVICE bool await(Peers arrivals, Peers rooms) {
    if (to_meet_ && !meet()) return false;
    return block_.await_each(both(), [&](unsigned i) -> device::Wait {
      const int peer = static_cast<int>(i / 2);
      if (i % 2 == 0 && arrivals.has(peer))
        return {team_.produced(team_.rank, peer, block_.index()), count(i) + 1, kArrival, peer};
      if (i % 2 == 1 && rooms.has(peer))
        return {team_.consumed(team_.rank, peer, block_.index()), count(i) + 1 - depth_of(layout()), kRoom, peer};
      return {};
    });
  }
  SENNIT_DEVICE bool await_room(Peers peers) { return await(Peers::none(), peers); }
  SENNIT_DEVICE bool await_arrival(Peers peers) { return await(peers, Peers::none()); }

  // After a wait: the counts are as the threads that keep them left them then.
  SENNIT_DEVICE std::byte* outgoing(int rank) const { return slot(rank, team_.rank, counts_.sent[rank]); }
  SENNIT_DEVICE const std::byte* incoming(int rank) const { return slot(team_.rank, rank, counts_.taken[rank]); }

  /// Returns what `rank` gives to a reduction: this rank's `own`, or another's chunk that has come.
  SENNIT_DEVICE const std::byte* given_by(int rank, const std::byte* own) const {
    return rank == team_.rank ? own : incoming(rank);
  }
  SENNIT_DEVICE const std::byte* given_by(unsigned rank, const std::byte* own) const {
    return given_by(static_cast<int>(rank), own);
  }

  /// A chunk has been written for each of `sent`, and the chunk of each of `taken` has been read.
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
    if (to_meet_ && !meet()) return;
    block_.each(both(), [&](unsigned i) { (i % 2 == 0 ? kept_.taken[i / 2] : kept_.sent[i / 2]) = count(i); });
  }

 private:
  struct Counts {
    device::Word sent[kMostRanks], taken[kMostRanks];
  };

  SENNIT_DEVICE Links(Block& block, const Team& team, device::Word use)
      : block_(block),
        team_(team),
        counts_(block.template shared<Counts>()),
        kept_(team.counts[block.index()]),
        use_(use),
        to_meet_(block.load(&kept_.use) != use) {
    block.each(both(),
               [&](unsigned i) { count(i) = block.load(i % 2 == 0 ? &kept_.taken[i / 2] : &kept_.sent[i / 2]); });
    if (to_meet_) Meetings(block, team).come();
  }

  SENNIT_DEVICE bool meet() {
    Meetings meetings(block_, team_);
    if (!meetings.end(kMeeting)) return false;
    meetings.mark(use_, team_.shape.shares() ? team_.shape.blocks : block_.index() + 1);
    to_meet_ = false;
    return true;
  }

  /// Returns the slot that chunk number `count` passes through.
  SENNIT_DEVICE std::byte* slot(int to, int from, device::Word count) const {
    const bool pull = way_in(use_) == Way::pull;
    return team_.slot(layout(), pull ? from : to, pull ? to : from, block_.index(), count);
  }
  SENNIT_DEVICE Layout layout() const { return layout_in(use_); }
  SENNIT_DEVICE unsigned both() const { return 2 * static_cast<unsigned>(team_.size); }
  SENNIT_DEVICE device::Word& count(unsigned i) const {
    return i % 2 == 0 ? counts_.taken[i / 2] : counts_.sent[i / 2];
  }

  Block& block_;
  const Team& team_;
  Counts& counts_;     // of the block
  BlockCounts& kept_;  // from launch to launch
  const device::Word use_;
  bool to_meet_;
};

}  // namespace sennit::coll
