// Makes progress of requests that stand for more than the real library knows: every wait has them move on.
//
// State: none but the requests (request_table.h). Locks: a request's mutex is held while it is looked at; under it
// the MPI is called, and the locks of Transports and Staging are taken. The table's own lock is never held then, and
// the queue's lock is taken with no request's mutex held. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "shim/mpi/comm/call_queues.h"
#include "shim/mpi/p2p/receives.h"

namespace sennit::shim::mpi {

class Progress {
 public:
  Progress(Job& job, Reporting& reporting, Staging& staging, CallQueues& queue, Transports& transports,
           Receives& receives, RequestTable& requests)
      : job_(job),
        reporting_(reporting),
        staging_(staging),
        queue_(queue),
        transports_(transports),
        receives_(receives),
        requests_(requests) {}

  /// Moves requests on, which others may wait for; whoever waits calls this again and again.
  void make() {
    if (requests_.busy()) make_of_busy();
  }
  /// Lets the MPI itself go on, by a look at a communicator: there is none where a program has begun only
  /// MPI_Sessions.
  void make_mpi() const {
    if (job_.communicators != nullptr) job_.mpi.progress();
  }

  /// Returns whether the real request may be completed: everything of it that the real library does not know of is
  /// done.
  bool ready(Handle request, OpenRequest& open, Program program = Program::waits);
  /// Looks at the receives that were posted first: what has come is fetched while a program posts more requests, at
  /// microseconds each, before it waits.
  void look_at_first_receives();
  /// Accepts RTRs of the program's first sends, where it is worth a pause between two of them.
  void serve_first_sends();
  /// Brings what a request has received to its GPU before the request is completed, if it has come: whoever waits for
  /// several need not have each copied when all are there.
  void bring(Handle request, OpenRequest& open);
  /// Completes what has come or gone of requests that the program has freed.
  void complete_orphans(Program program);

  /// Waits until the receiver has a message. Returns MPI's code.
  int wait_for_receiver(msg::SendTransfer& outgoing, const Call& call);
  /// Waits until buffered messages are sent, where requests move and the MPI can tell.
  void flush_buffered();
  /// Returns what the program is told in function `what` where a wait for a request, or for a rank of MPI_COMM_WORLD,
  /// would never end, since a rank was lost. What others' deaths are to it is the MPI's to say.
  std::optional<int> fail_if_lost(std::string_view what, OpenRequest& open);
  std::optional<int> fail_if_lost(std::string_view what, Handle comm, int world_rank);
  /// Returns ranks of other nodes with whom messages are on their way, or may be on their way unseen.
  std::vector<int> awaited_elsewhere();

  /// Ends requests that were freed, at MPI's end, as MPI_Finalize waits for their messages.
  void finish();

 private:
  void make_of_busy();
  bool ready_send(Handle request, OpenRequest& open, Program program);
  bool ready_receive(Handle request, OpenRequest& open, Program program);
  /// Returns what ready() does, for a persistent send.
  bool is_sent(OpenRequest& open, Program program);
  /// Completes one that is ready, and claimed; false: the real library has not done with it.
  bool complete_orphan(Handle request, OpenRequest& open);
  /// Returns ok while whoever a request waits for lives, as far as the MPI would not say so.
  Status check(OpenRequest& open) const;
  void explain(Function function, const msg::SendTransfer& outgoing);

  Job& job_;
  Reporting& reporting_;
  Staging& staging_;
  CallQueues& queue_;
  Transports& transports_;
  Receives& receives_;
  RequestTable& requests_;
};

}  // namespace sennit::shim::mpi
