// Makes calls that wait for other ranks safe: a rank that has requests of GPU memory open may not wait in a blocking
// call of the MPI for one that waits for those to move. So it makes progress until all have come, and calls the MPI
// then. Calls of a communicator whose ranks are known are counted on its vote (collective_vote.h); others by their
// ranks, and a rank that has such requests asks (peer_query.h).
//
// State: it has none of its own; counts are in CommRegistry. It takes no lock, and no lock may be held when it is
// called: it waits for other ranks. Returned codes are what the program is told where a rank was lost, for which MPI
// would wait for ever.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "shim/mpi/p2p/progress.h"

namespace sennit::shim::mpi {

class Arrivals {
 public:
  using Until = CallQueues::Until;

  Arrivals(Job& job, Reporting& reporting, CallQueues& queue, Progress& progress, RequestTable& requests)
      : job_(job), reporting_(reporting), queue_(queue), progress_(progress), requests_(requests) {}

  /// Counts a collective call, of function `what`, whose buffers are not GPU memory: the other ranks may wait to hear
  /// so. Calls that wait in the communicator's queue begin before.
  std::optional<int> vote_no(std::string_view what, Handle comm);
  /// Waits, where requests are open, for all ranks to come to this rank's latest collective call that may wait for
  /// one of them: a blocking call of the MPI would not move these.
  std::optional<int> wait_for_all(std::string_view what, Handle comm);

  /// Does both, before a blocking call of all ranks of `comm` that is the MPI's alone.
  std::optional<int> arrive(std::string_view what, Handle comm);
  struct Leaders {
    int local = 0;
    Handle between = kNoHandle;  ///< where the local leader reaches the other one
    int remote = 0, tag = 0;
  };
  /// Arrives likewise for MPI_Intercomm_create: the call also waits for the remote group, whose leader is reached
  /// over `leaders.between`.
  std::optional<int> arrive(std::string_view what, Handle comm, const Leaders& leaders);
  /// Arrives likewise for a call of all ranks of a group alone, which keeps no order with others of `comm`.
  std::optional<int> arrive(std::string_view what, Handle comm, Handle group, int tag);
  /// Arrives likewise for a call of all ranks of a file or a window.
  std::optional<int> arrive(std::string_view what, Shared kind, Handle handle);

  /// Keeps ranks of other nodes from announcing anything, from before one of the above to the call's end: this rank
  /// would not look at it.
  PeerQuery::RtsHold hold_rts() {
    return requests_.none() || job_.communicators == nullptr ? PeerQuery::RtsHold()
                                                             : PeerQuery::RtsHold(job_.communicators->peer_query());
  }

  /// Names a file or a window that a call of all ranks of `comm` has made: calls of the same ranks are told apart
  /// from now on.
  void name(Shared kind, Handle made, Handle comm) {
    if (job_.communicators != nullptr) job_.communicators->name(kind, made, comm);
  }
  /// Forgets a file or a window that is about to be freed.
  void forget(Shared kind, Handle handle);

  /// Lets all that wait in a communicator's queue begin, before a call that may wait for other ranks.
  std::optional<int> drain(std::string_view what, Handle comm) {
    return queue_.any_waits() ? drain_known(what, comm) : std::nullopt;
  }
  /// Drains its queue; its ranks have met then. Errors: a rank was lost before that, or while calls were under way.
  Status drain(Handle comm, CommState& one, Until until) {
    return CallQueues::is_drained(one, until) ? Status() : drain_now(comm, one, until);
  }
  /// Waits until all ranks of this node have come, and those elsewhere that are awaited. Errors: one was lost.
  Status wait_for_all(Handle comm, const CommState& one);

 private:
  std::optional<int> drain_known(std::string_view what, Handle comm);
  Status drain_now(Handle comm, CommState& one, Until until);
  /// Waits for all of a call that no vote counts. Errors: one of them was lost.
  Status wait_for_scope(Handle comm, const CallScope& all);
  /// Makes progress until `done` says so, or nothing on `comm` will be done any more. Errors: one of `ranks`, of
  /// MPI_COMM_WORLD, was lost.
  template <class Done>
  Status progress_until(Handle comm, std::span<const int> ranks, const Done& done);
  std::optional<int> told(std::string_view what, Handle comm, const Status& status) const {
    return status.ok() ? std::nullopt : std::optional(reporting_.fail(what, comm, status));
  }

  Job& job_;
  Reporting& reporting_;
  CallQueues& queue_;
  Progress& progress_;
  RequestTable& requests_;
};

}  // namespace sennit::shim::mpi
