// Keeps the queues of the program's collective calls that end in a request: each communicator has one (call_queue.h),
// and a call waits there until it is known whether sennit does it.
//
// State: communicators whose queues are not empty, what to do when all are, the progress thread. Lock: mutex_, which
// is recursive, since a real function may call the program's error handler, and that MPI. Under it: the locks of
// CommRegistry and Staging, the MPI, and `later` functions. It must not be taken under a request's mutex.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "shim/mpi/comm/job.h"
#include "shim/mpi/comm/pending_call.h"
#include "shim/mpi/comm/progress_thread.h"
#include "shim/mpi/staging/staging.h"

namespace sennit::shim::mpi {

class CallQueues {
 public:
  CallQueues(Job& job, Reporting& reporting, Staging& staging)
      : job_(job), reporting_(reporting), staging_(staging) {}

  /// Returns whether a call of any communicator waits in its queue, and so of this one.
  bool any_waits() const { return waiting_.load(std::memory_order_acquire) != 0; }
  bool waits(Handle comm) const;
  /// Counts a call of host memory that ends in a request. False: calls of `comm` wait, so it has to wait behind them,
  /// and is not counted yet.
  bool vote_no_at_once(Handle comm);
  /// Does something once no call waits.
  void when_none_waits(std::function<void()> what);

  /// Makes what is to be enqueued of a call: a collective one that ends in a request, one of neighbours, or what else
  /// has to keep their order. Null: it need not wait, and is to be made at once; `why` it is then staged.
  std::shared_ptr<PendingCall> prepare(const Call& call, std::string_view& why);
  /// Enqueues it; `request` is what the program gets. Returns MPI's code.
  int enqueue(const std::shared_ptr<PendingCall>& pending, Handle& request);
  /// Enqueues a call of a communicator that is known.
  void enqueue(Handle comm, CommState& one, const std::shared_ptr<PendingCall>& pending);
  /// Moves on what waits. Returns whether any is left.
  bool progress(Mover mover);
  /// Tells of a call that is over. `comm`: that of its request now. Returns what the program is told.
  int complete(PendingCall& pending, Handle comm);

  /// Says how far a communicator's queue is drained.
  enum class Until : std::uint8_t {
    pending,  ///< no call waits
    done,     ///< and sennit is doing none: what does them is free
  };
  /// Returns whether there is nothing to drain, as in almost every call.
  static bool is_drained(const CommState& one, Until until) {
    return one.ready && !is_active(one, until) && !one.broken;
  }
  static bool is_active(const CommState& one, Until until) {
    return (until == Until::pending ? one.waits : one.active).load(std::memory_order_acquire);
  }
  /// Moves on what waits. Returns whether the communicator's ranks have met, and its queue is drained.
  bool drain_once(Handle comm, CommState& one, Until until);

  /// Ends the progress thread, at MPI's end.
  void finish() { progress_thread_.reset(); }

 private:
  /// Returns why sennit cannot do a call that ends in a request; empty: it can, and `work` is what it is to do.
  WhyNot why_not(const Call& call, CommState& one, Work& work);
  class Table;

  Job& job_;
  Reporting& reporting_;
  Staging& staging_;
  /// Communicators with calls that wait, or that sennit does.
  struct Active {
    Handle comm;
    CommState* one;
  };
  std::recursive_mutex mutex_;
  std::vector<Active> active_;
  std::vector<std::function<void()>> later_;
  std::atomic<int> waiting_{0};
  std::unique_ptr<ProgressThread> progress_thread_;  // made when first needed
};

}  // namespace sennit::shim::mpi
