// Shows the ranks of a job to each other through an MPI of any ABI, which is opened at run time.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "bench/mpi/library.h"
#include "bench/partitioned/back_end.h"
#include "bench/partitioned/end.h"

namespace sennit::bench::partitioned {

/// Names one end of a message. `number` tells it from other messages that there are meanwhile between these two.
struct Way {
  bool sends = false;
  int peer = 0;
  int number = 0;
};

class Link {
 public:
  /// Starts MPI (MPI_Init_thread, MPI_THREAD_MULTIPLE is asked for). `two`: other numbers of ranks are refused.
  /// Errors: unsupported where the library lacks a function; invalid_argument unless there are two ranks.
  static Result<std::unique_ptr<Link>> start(const mpi::OpenLibrary& library, bool two = true);
  virtual ~Link() = default;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// Returns whether this is rank 0: of two ranks it sends the message, of several it decides what is done.
  bool sends() const { return rank_ == 0; }
  /// Returns the MPI's own version text, in one line.
  const std::string& version() const { return version_; }
  /// Returns whether several threads may call MPI at once.
  bool is_thread_multiple() const { return thread_multiple_; }
  /// Returns why this MPI cannot do it, in a sentence; empty where it can. `threads`: of the sender.
  std::string lacks(BackEnd back_end, int threads) const;

  /// Makes this rank's end. Both ranks of a message make theirs in the same order; of a back end that is not
  /// is_between_two() all ranks make one.
  virtual Result<std::unique_ptr<End>> open(BackEnd back_end, const Message& message, const Way& way) = 0;
  /// That of the message from rank 0 to rank 1.
  Result<std::unique_ptr<End>> open(BackEnd back_end, const Message& message, int number = 0) {
    return open(back_end, message, Way{sends(), 1 - rank_, number});
  }
  /// MPI_Startall of two ends of BackEnd::mpi; returns MPI's code.
  virtual int start_all(End& one, End& other) = 0;

  /// Gives another rank some bytes, and takes as many; on a communicator of their own.
  virtual Status tell(std::span<const std::byte> bytes, int to) = 0;
  virtual Status hear(std::span<std::byte> bytes, int from) = 0;
  template <class T>
  Status tell_one(const T& value, int to) {
    return tell(std::as_bytes(std::span(&value, 1)), to);
  }
  template <class T>
  Status hear_one(T& value, int from) {
    return hear(std::as_writable_bytes(std::span(&value, 1)), from);
  }
  /// These do the same with the other one of two ranks.
  Status tell(std::span<const std::byte> bytes) { return tell(bytes, 1 - rank_); }
  Status hear(std::span<std::byte> bytes) { return hear(bytes, 1 - rank_); }
  template <class T>
  Status tell_one(const T& value) {
    return tell_one(value, 1 - rank_);
  }
  template <class T>
  Status hear_one(T& value) {
    return hear_one(value, 1 - rank_);
  }
  /// MPI_Barrier.
  virtual Status meet() = 0;

  /// Ends MPI (MPI_Finalize). Collective.
  virtual void finish() = 0;

 protected:
  virtual bool has_partitioned() const = 0;

  int rank_ = 0, ranks_ = 2;
  bool thread_multiple_ = false;
  std::string version_;
};

}  // namespace sennit::bench::partitioned
