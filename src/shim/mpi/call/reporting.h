// Tells people and programs about calls: the report, SENNIT_EXPLAIN's lines, errors.
//
// State: the report and what was explained already, each with a lock of its own; this process's rank, which only
// begin() sets, in MPI_Init. Nothing is called under those locks, so they stand last in the lock order. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "shim/explanations.h"
#include "shim/mpi/call/call.h"
#include "shim/mpi/call/call_names.h"
#include "shim/mpi/call/message_size.h"
#include "shim/report.h"
#include "shim/switches.h"

namespace sennit::shim::mpi {

class Reporting {
 public:
  using Clock = std::chrono::steady_clock;

  Reporting(const Mpi& mpi, const Switches& switches) : mpi_(mpi), switches_(switches) {}

  /// MPI has begun; `rank`: this process's in MPI_COMM_WORLD.
  void begin(int rank) {
    rank_ = rank;
    explains_ = switches_.explain && rank == 0;
  }

  /// Returns whether anybody asks what becomes of calls: the report, an observer, or who has it explained.
  bool tells() const { return switches_.report || explains_ || switches_.listener.listens(); }
  bool explains() const { return explains_; }

  /// Counts what became of a call for the report, and tells an observer: `bytes` of a message, and how it went.
  void count(const Call& call, std::uint64_t bytes, std::string_view how, std::chrono::nanoseconds took);
  void count(const Call& call, std::uint64_t bytes, std::string_view how, Clock::time_point since) {
    if (switches_.report)
      count(call, bytes, how, Clock::now() - since);
    else
      switches_.listener.tell(how);
  }
  /// Counts a call of message_size() bytes. `time`: as above.
  template <class Time>
  void count(const Call& call, std::string_view how, Time time) {
    if (switches_.report)
      count(call, message_size(call), how, time);
    else
      switches_.listener.tell(how);
  }
  /// Explains the plan that a call of this size has, once for each size.
  void explain_plan(const Call& call, std::uint64_t bytes, std::string_view plan) {
    if (explains_) explanations_.say(name_of(call), bytes, plan);
  }
  /// Explains the way that such calls go whatever their size, once for each way. `detail` is put behind `how`.
  void explain_way(std::string_view name, std::uint64_t bytes, std::string_view how, std::string_view detail = {});
  void explain_way(Function function, std::uint64_t bytes, std::string_view how, std::string_view detail = {}) {
    if (explains_) explain_way(name_of(function), bytes, how, detail);
  }
  /// Prints the report, at MPI's end.
  void print() const;

  /// Says what went wrong in function `what` on `comm`, and calls the program's error handler: returns what the
  /// program is told.
  int fail(std::string_view what, Handle comm, const Status& status) const;
  int fail(const Call& call, const Status& status) const { return fail(function_of(call), call.comm, status); }
  /// Says it, and no more.
  void say(std::string_view what, Handle comm, const Status& status) const;
  /// Returns MPI's code for an error of sennit's.
  int code_of(const Status& status) const;
  int rank() const { return rank_; }

 private:
  const Mpi& mpi_;
  const Switches& switches_;
  Report report_;
  Explanations explanations_;
  bool explains_ = false;  // since MPI_Init, on rank 0
  int rank_ = 0;
};

}  // namespace sennit::shim::mpi
