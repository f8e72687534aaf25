// Declares what one-sided communication with GPU memory needs of the program's MPI, in words that are the same for
// every ABI.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/mpi/abi/handle.h"

namespace sennit::shim::mpi {

/// Every function returns MPI's error code, 0 for success.
class WindowMpi {
 public:
  virtual ~WindowMpi() = default;

  virtual int err_range() const = 0;
  virtual int err_attach() const = 0;
  /// Calls the window's error handler, and returns what the program is told.
  virtual int fail(Handle window, int code) const = 0;

  /// A call to `rank` that moves nothing finds a wrong window or rank, and a missing epoch. The error handler hears
  /// nothing of it if it is a function of the program's.
  virtual int check(Handle window, int rank) const = 0;
  /// An accumulating call that moves nothing finds what the MPI does not accumulate, too.
  virtual int check(Handle window, int rank, Handle type, Handle op) const = 0;
  /// Within a lock or lock_all: returns once the lock at `rank` is held, which those functions themselves need not
  /// wait for. Eight bytes of the window's memory there must be readable.
  virtual int hold(Handle window, int rank) const = 0;
  /// Begins a request of the window that moves nothing. `request`: a pointer to the program's.
  virtual int begin_nothing(Handle window, int rank, void* request) const = 0;
  virtual int wait(void* request) const = 0;

  /// Finds the members of `group`, as ranks of `comm`.
  virtual int ranks(Handle group, Handle comm, std::vector<int>& ranks) const = 0;
  /// Sends a message without bytes, which is not waited for at this end.
  virtual int post(Handle comm, int rank) const = 0;
  virtual int begin_await(Handle comm, int rank, Handle& request) const = 0;

  /// Returns the predefined type that a type consists of, where that is one alone.
  virtual Handle element_of(Handle type) const = 0;
  /// `inout` = `in` op `inout`, of a predefined type and operator, MPI_REPLACE and MPI_NO_OP among them.
  virtual int reduce(const void* in, void* inout, std::int64_t count, Handle type, Handle op) const = 0;
  virtual bool is_no_op(Handle op) const = 0;
  virtual bool is_replace(Handle op) const = 0;
};

}  // namespace sennit::shim::mpi
