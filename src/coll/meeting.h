// The blocks of one number, of all ranks, wait for each other: what each did before is done, and seen by all.
//
// Every rank launches the same programs with the same blocks, so that all know when to meet. Meetings are counted
// from launch to launch, in memory of the rank.
#pragma once

#include "coll/team.h"

namespace sennit::coll {

template <class Block>
class Meetings {
 public:
  SENNIT_DEVICE Meetings(Block& block, const Team& team)
      : block_(block), team_(team), next_(block.load(&kept().meetings) + 1) {}

  /// Returns the number of the next meeting, equal for all.
  SENNIT_DEVICE device::Word next() const { return next_; }

  /// Does the first half of a meeting: says that this block has come.
  SENNIT_DEVICE void come() {
    block_.signal_each(team_.ranks(), [&](unsigned i) -> device::Signal {
      const int peer = static_cast<int>(i);
      if (peer == team_.rank) return {};
      return {team_.met(peer, team_.rank, block_.index()), next_};
    });
  }
  /// Second half: waits until all have come. `wait_id`: the program's number for the wait. False: give up, at once.
  SENNIT_DEVICE bool end(device::Word wait_id) {
    const bool met = block_.await_each(team_.ranks(), [&](unsigned i) -> device::Wait {
      const int peer = static_cast<int>(i);
      if (peer == team_.rank) return {};
      return {team_.met(team_.rank, peer, block_.index()), next_, wait_id, peer};
    });
    if (met) block_.store(&kept().meetings, next_++);
    return met;
  }
  SENNIT_DEVICE bool meet(device::Word wait_id) {
    come();
    return end(wait_id);
  }

  /// Waits, in programs that lay out the slots in a way of their own, for the end of launches that did it in another;
  /// see links.h. False: give up, at once.
  SENNIT_DEVICE bool own_the_slots(device::Word use, device::Word wait_id) {
    return own(use, wait_id, block_.index() + 1);
  }
  /// Waits likewise, for programs whose blocks share all slots, also those of blocks that the launch has not: the
  /// next launch that has them finds the use changed, and meets before it writes where a block of this one may still
  /// read. A launch of fewer blocks that came since has laid out only its own blocks' slots, and these find it out;
  /// the share of any other block begins behind them (Shape::share()).
  SENNIT_DEVICE bool own_all_slots(device::Word use, device::Word wait_id) {
    return own(use, wait_id, team_.shape.blocks);
  }

  /// Marks the slots of this block, after a meeting, and, below `end`, of those that come to it when the launch's
  /// blocks are dealt out again and again.
  SENNIT_DEVICE void mark(device::Word use, unsigned end) {
    for (unsigned block = block_.index(); block < end; block += block_.count())
      block_.store(&team_.counts[block].use, use);
  }

 private:
  SENNIT_DEVICE bool own(device::Word use, device::Word wait_id, unsigned end) {
    if (block_.load(&kept().use) == use) return true;
    if (!meet(wait_id)) return false;
    mark(use, end);
    return true;
  }
  SENNIT_DEVICE BlockCounts& kept() const { return team_.counts[block_.index()]; }

  Block& block_;
  const Team& team_;
  device::Word next_;
};

}  // namespace sennit::coll
