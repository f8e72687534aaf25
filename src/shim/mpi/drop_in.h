// The drop-in as this process has it: what becomes of a call that has GPU memory among its buffers.
//
// 1. A blocking collective of ranks on this node, with memory of one GPU at each rank, becomes sennit's (counterpart.h), if
//    all ranks can (board.h).
// 2. Everything else goes to the real function, with host memory in the place of GPU memory (shadows.h).
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "shim/memories.h"
#include "shim/mpi/call.h"
#include "shim/mpi/communicators.h"
#include "shim/mpi/gpus.h"
#include "shim/mpi/open_requests.h"
#include "shim/mpi/shadows.h"
#include "shim/report.h"
#include "shim/switches.h"

namespace sennit::shim::mpi {

class DropIn {
 public:
  DropIn(std::unique_ptr<Mpi> mpi, Switches switches, std::unique_ptr<Memories> memories)
      : mpi_(std::move(mpi)), switches_(std::move(switches)), memories_(std::move(memories)) {}

  const Mpi& mpi() const { return *mpi_; }
  Memories& memories() { return *memories_; }
  OpenRequests& requests() { return requests_; }

  /// Collective over MPI_COMM_WORLD, at the end of MPI_Init: finds out who is where. False: no process of the job can
  /// have GPU memory, and nothing is left to do.
  bool start();
  /// Collective, at the beginning of MPI_Finalize.
  void finish();

  bool is_device(const void* address) const { return memories_->is_device(address); }

  /// A collective call whose buffers are not GPU memory: the other ranks may wait to hear so.
  void pass(Handle comm);

  /// Blocking calls, to the end. What the program is to be told.
  int perform(const Call& call, const RealCall& real);
  /// The first half of calls that end in a request, or bring a status, and the second. `received`: bytes of a message, as
  /// its status says; negative for others.
  Result<std::shared_ptr<Shadows>> begin(const Call& call);
  Status end(Shadows& shadows, std::int64_t received) { return shadows.give_back(received); }
  /// Says what went wrong, and what the program is told.
  int fail(const Call& call, const Status& status);
  int fail(std::string_view what, Handle comm, const Status& status);

  /// Before a communicator is freed.
  void forget(Handle comm);

  void count(const Call& call, std::uint64_t bytes, std::string_view how, std::chrono::steady_clock::time_point since);

 private:
  Gpus* gpus();
  /// The call done by sennit; none where it is to be left to the real function, and `why` says why.
  std::optional<int> accelerate(const Call& call, std::string& why);
  bool wait_for_all(const Board& board, std::uint64_t number, const Call& call);
  void explain(std::string_view operation, std::uint64_t bytes, std::string_view how);

  const std::unique_ptr<Mpi> mpi_;
  const Switches switches_;
  const std::unique_ptr<Memories> memories_;
  std::mutex gpus_mutex_;
  std::unique_ptr<Gpus> gpus_;
  std::unique_ptr<HostMemory> host_;
  Status no_gpus_;
  std::unique_ptr<Communicators> communicators_;
  OpenRequests requests_;
  Report report_;
  std::mutex explained_mutex_;
  std::set<std::pair<std::string, std::uint64_t>> explained_;
  int rank_ = 0;
};

}  // namespace sennit::shim::mpi
