// Carries messages between GPUs without the MPI (msg/): on this node, and in chunks to other nodes.
//
// State: both of these and the memory exported to other processes, made at first use; the program's own messages that
// look like RTSs. Lock: mutex_, of what is made at first use. Staging's is not taken under it, and the MPI is not
// called under it; what it makes has locks of its own. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>

#include "msg/messages.h"
#include "msg/rndv_pipeline.h"
#include "shim/mpi/comm/job.h"
#include "shim/mpi/p2p/mpi_carrier.h"
#include "shim/mpi/staging/staging.h"

namespace sennit::shim::mpi {

class Transports {
 public:
  Transports(Job& job, Staging& staging) : job_(job), staging_(staging) {}

  /// Returns the cache of GPU memory that this process exports and imports; null: there are no GPUs, or the job's
  /// ranks have not met.
  msg::IpcCache* ipc_cache();
  /// Returns the messages of this node; null as ipc_cache().
  msg::Messages* messages();
  /// Those, where they were made before; else null.
  msg::Messages* live_messages() const { return live_messages_.load(std::memory_order_acquire); }
  /// Returns the messages between nodes; null as ipc_cache(), and where all ranks are on one node.
  msg::Pipeline* pipeline();
  msg::Pipeline* live_pipeline() const { return pipeline_.get(); }

  /// Announces a send, so that its receiver gets the memory itself. Null: it is to be staged, and `why` says why.
  std::unique_ptr<msg::SendTransfer> announce(const Call& call, std::string_view& why);

  /// Returns whether any message of this process is ever announced. False before MPI_Init too, where MPI must not be
  /// asked.
  bool may_announce() const { return job_.communicators != nullptr && job_.memories.possible(); }
  /// Notes a message of the program's own, of `bytes` bytes, before it is sent; to be kept until that call returns.
  /// `again`: it is sent whenever the program says so.
  msg::LookAlikes::Sending note(std::int64_t bytes, int dest, int tag, Handle comm, bool again) {
    const auto step = msg::Rts::step_of(static_cast<std::uint64_t>(bytes));
    if (!step) return {};
    const int to = job_.communicators->peer(comm, dest).world_rank;
    return to < 0 || to == job_.rank ? msg::LookAlikes::Sending() : look_alikes_.begin({to, tag, comm}, *step, again);
  }

  /// Ends messages between nodes, at MPI's end, and later the others: ranks of this node may want what was left for
  /// them until all have come to the end.
  void finish_pipeline() {
    pipeline_.reset();
    carrier_.reset();
  }
  void finish();

 private:
  /// Returns what is known of a message of `bytes` bytes to another rank of the job. Where that decides that it is
  /// staged, others are not asked.
  msg::Facts facts_of(std::uint64_t bytes, int world_rank);

  Job& job_;
  Staging& staging_;
  std::mutex mutex_;
  std::unique_ptr<msg::IpcCache> ipc_cache_;
  msg::LookAlikes look_alikes_;
  std::unique_ptr<msg::Messages> messages_;
  std::atomic<msg::Messages*> live_messages_{nullptr};  // that, for who has not made it
  std::unique_ptr<MpiCarrier> carrier_;
  std::unique_ptr<msg::Pipeline> pipeline_;
};

}  // namespace sennit::shim::mpi
