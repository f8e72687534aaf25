// Copy engines write straight into the ranks' buffers, where these lie in symmetric windows. No scratch, no copies,
// and no SM but for the moments in which one block waits or signals.
//
// A lane program of all-to-all and allgather, and of the second half of an allreduce; copies go in rounds on a lane
// of their own, in each of which a rank sends to one peer and gets from one.
//
// 1. All ranks meet (EngineStart): every output may be written. The ticket is written: the count that this call has.
// 2. An allreduce begins with a reduce-scatter, through scratch by kernels (reduce_scatter_direct.h), into the rank's
//    own slice of its output. What a peer's copies will overwrite, a rank has sent by then: the peer has reduced it.
//    Where a kernel gave up the ticket is taken back (EngineReduced): engines copy all the same, but no peer trusts
//    it.
// 3. Round k: the message for the rank k places after this one, into its output, and behind it the ticket.
// 4. Meanwhile the caller's lane copies the message to oneself, and waits until the own copies are done.
// 5. WindowsEnd: a block waits for every peer's ticket.
#pragma once

#include "coll/allreduce_copy_engines.h"

namespace sennit::coll {

struct WindowsEnd {
  static constexpr const char* kName = "copy_engines_windows end";
  enum WaitId : device::Word { kArrived = 35 };
  Team team;
  Tickets* tickets;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const device::Word* const ticket = &tickets->ticket[0];
    if (await_tickets(block, team, ticket, kGathered, kArrived)) block.store(&tickets->chunks, block.load(ticket));
  }
};

}  // namespace sennit::coll
