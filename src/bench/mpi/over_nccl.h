// Carries the exchanges of a pattern over NCCL, among the ranks of the job: each one a group of sends and receives.
#pragma once

#include <memory>
#include <string>

#include "bench/mpi/job.h"
#include "bench/nccl/library.h"

namespace sennit::bench::mpi {

class OverNccl {
 public:
  /// Collective. `given`: as open_nccl_library() takes it. Its functions are called as a program that is linked with
  /// NCCL calls them, so sennit's drop-in is before it where it is preloaded. Errors, the same on every rank:
  /// not_found (no library), those of NCCL.
  static Result<std::unique_ptr<OverNccl>> open(Job& job, Memories& memories, const std::string& given);
  /// Aborts rather than destroys: an abort waits for no rank.
  ~OverNccl();

  const std::string& version() const { return version_; }
  /// Enqueues `calls` exchanges, one behind the other on the stream of this rank's GPU, and waits for the last one:
  /// what all of them take is timed. Errors: those of NCCL and of the GPU.
  Status exchange(const Batch& batch, int calls, Spent& spent);

 private:
  explicit OverNccl(Memories& memories) : memories_(memories) {}
  Status begin(int rank, NcclId& id);
  int enqueue(const Batch& batch, NcclLibrary::Stream stream) const;

  Memories& memories_;
  NcclLibrary library_;
  NcclCommunicator communicator_ = nullptr;
  std::string version_;
};

}  // namespace sennit::bench::mpi
