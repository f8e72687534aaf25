// Shows the two ranks of a job to each other through an MPI of any ABI, which is opened at run time.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "bench/mpi/library.h"
#include "bench/partitioned/back_end.h"
#include "bench/partitioned/end.h"

namespace sennit::bench::partitioned {

class Link {
 public:
  /// Starts MPI (MPI_Init_thread, MPI_THREAD_MULTIPLE is asked for). Errors: unsupported where the library lacks a
  /// function; invalid_argument unless there are two ranks.
  static Result<std::unique_ptr<Link>> start(const mpi::OpenLibrary& library);
  virtual ~Link() = default;

  bool sends() const { return rank_ == 0; }
  /// Returns the MPI's own version text, in one line.
  const std::string& version() const { return version_; }
  /// Returns whether several threads may call MPI at once.
  bool is_thread_multiple() const { return thread_multiple_; }
  /// Returns why this MPI cannot do it, in a sentence; empty where it can. `threads`: of the sender.
  std::string lacks(BackEnd back_end, int threads) const;

  /// Makes this rank's end. Both ranks make the same ones in the same order. `number`: apart from other ends of
  /// BackEnd::mpi that there are meanwhile.
  virtual Result<std::unique_ptr<End>> open(BackEnd back_end, const Message& message, int number = 0) = 0;
  /// MPI_Startall of two ends of BackEnd::mpi; returns MPI's code.
  virtual int start_all(End& one, End& other) = 0;

  /// Gives the other rank some bytes, and takes as many; on a communicator of their own.
  virtual Status tell(std::span<const std::byte> bytes) = 0;
  virtual Status hear(std::span<std::byte> bytes) = 0;
  template <class T>
  Status tell_one(const T& value) {
    return tell(std::as_bytes(std::span(&value, 1)));
  }
  template <class T>
  Status hear_one(T& value) {
    return hear(std::as_writable_bytes(std::span(&value, 1)));
  }
  /// MPI_Barrier.
  virtual Status meet() = 0;

  /// Ends MPI (MPI_Finalize). Collective.
  virtual void finish() = 0;

 protected:
  virtual bool has_partitioned() const = 0;

  int rank_ = 0;
  bool thread_multiple_ = false;
  std::string version_;
};

}  // namespace sennit::bench::partitioned
