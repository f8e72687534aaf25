// Does persistent collective calls with sennit at every start: all ranks agree on that when the call is made, and
// each such call has a sennit communicator of its own, since calls may start in another order on each rank.
//
// State: how many such calls this process has. It takes no lock, and no lock may be held when it is called: init()
// waits for other ranks. start() takes the queue's lock, and a request's mutex with no other held.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "shim/mpi/coll/arrivals.h"

namespace sennit::shim::mpi {

class PersistentCalls {
 public:
  PersistentCalls(Job& job, Reporting& reporting, Staging& staging, CallQueues& queue, Progress& progress,
                  Arrivals& arrivals, RequestTable& requests)
      : job_(job),
        reporting_(reporting),
        staging_(staging),
        queue_(queue),
        progress_(progress),
        arrivals_(arrivals),
        requests_(requests) {}

  /// Collective: makes a persistent call that sennit does on all ranks. Null: it does not, and `why` says why.
  std::unique_ptr<PersistentCall> init(const Call& call, std::string_view& why);
  /// Takes part in init() for a call of host memory.
  void init_of_host(Handle comm);
  /// Starts such a call; false where it is to be started by the real function.
  bool start(OpenRequest& open);
  /// Waits for those of a communicator that is about to be freed.
  void forget(CommState& one);

 private:
  /// Returns what does the call, if all ranks say that sennit does it; null, and `why`, if not. `call` is null for
  /// one of host memory.
  std::shared_ptr<CommState> agree(Handle comm, const Call* call, Work& work, std::string_view& why);

  Job& job_;
  Reporting& reporting_;
  Staging& staging_;
  CallQueues& queue_;
  Progress& progress_;
  Arrivals& arrivals_;
  RequestTable& requests_;
  std::atomic<int> count_{0};  // that have a sennit communicator
};

}  // namespace sennit::shim::mpi
