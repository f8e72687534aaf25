// Shows the job as its ranks see it through MPI: the functions that are measured, with and without sennit before
// them, and what ranks tell each other in between.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/mpi/layout.h"
#include "bench/mpi/library.h"
#include "bench/mpi/memory.h"
#include "bench/mpi/numbers.h"

namespace sennit::bench::mpi {

class OverNccl;

/// Describes what one rank does in one variant: its buffers, and whose functions are called.
struct Batch {
  Layout layout;
  bool with_sennit = false;    ///< by its entry points
  std::string variant;         ///< what it is called, on every rank
  std::byte* input = nullptr;  ///< of the program, as is
  std::byte* output = nullptr;
  /// Copies of the two by hand, in pinned memory, which MPI gets instead. Null where MPI gets the program's own.
  std::byte* staged_input = nullptr;
  std::byte* staged_output = nullptr;
  OverNccl* nccl = nullptr;  ///< which carries an exchange; null: MPI does

  bool by_hand() const { return staged_input != nullptr; }
};

/// Holds the time that calls take.
struct Spent {
  double us = 0;      ///< what is timed
  double all_us = 0;  ///< with what is not, such as ranks that meet before each collective
};

class Job {
 public:
  /// Starts MPI (MPI_Init), of whatever ABI. Errors: unsupported where the library lacks a function.
  static Result<std::unique_ptr<Job>> start(const OpenLibrary& library, const Numbers& numbers, Memories& memories);
  virtual ~Job() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Returns whether sennit's drop-in stands before the MPI.
  bool has_sennit() const { return has_sennit_; }
  /// Returns true if an observer does, and no drop-in: calls with sennit are then those that it sees.
  bool is_observed() const { return is_observed_; }
  /// Returns the MPI's function that an operation needs and that this one, being older, has not; else empty.
  virtual std::string lacks(const Benchmark& benchmark) const = 0;
  /// Returns the MPI's own version text, in one line.
  const std::string& version() const { return version_; }

  /// Collective. What is timed of one call, or of one message of a window, and all of a call, on the slowest rank;
  /// the same on every rank. Errors, the same on every rank: those of copies, and what MPI's functions return.
  Result<Spent> run(const Batch& batch, int calls);

  /// Collective: what every rank says, by rank. Errors: those of MPI.
  Result<std::vector<std::string>> gather(const std::string& mine);
  /// Collective: the first error of any rank, the same on every rank, which names that rank.
  Status agree(const Status& mine);

  /// Ends MPI (MPI_Finalize). Collective.
  virtual void finish() = 0;

 protected:
  /// Sets what all `calls` take on this rank.
  virtual Status timed(const Batch& batch, int calls, Spent& spent) = 0;
  virtual int all_gather(const void* mine, void* all, int bytes) = 0;

  int rank_ = 0, size_ = 1;
  bool has_sennit_ = false, is_observed_ = false;
  std::string version_;
};

}  // namespace sennit::bench::mpi
