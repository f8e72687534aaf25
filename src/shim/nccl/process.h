// Holds what all parts of the drop-in for NCCL share in a process.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "shim/explanations.h"
#include "shim/nccl/abi/abi.h"
#include "shim/nccl/call.h"
#include "shim/nccl/comm.h"
#include "shim/report.h"
#include "shim/switches.h"
#include "stage/pointer_cache.h"

namespace sennit::shim::nccl {

/// The latest error, as NCCL keeps its own: one for the process, in a place that stays. Thread-safe.
class LastError {
 public:
  /// Keeps the text for ncclGetLastError; empty: what NCCL has to say is newer.
  void say(std::string_view text);
  /// Returns NCCL's `code`, which the program gets: where it is an error, that is the latest one.
  int from_nccl(int code);
  /// Returns the text; null: NCCL's own is the latest.
  const char* text();

 private:
  std::mutex mutex_;
  char text_[1024] = {};
};

/// Counts the program's calls for the report, and explains them. Thread-safe.
class CallTally {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit CallTally(const Switches& switches)
      : reports_(switches.report), explains_(switches.explain), listener_(switches.listener) {}

  /// Returns the time for count(). Where no report was asked for the clock is not read: that is a tenth of what a
  /// call costs.
  Time begin() const { return reports_ ? std::chrono::steady_clock::now() : Time(); }
  /// Tells an observer how a call is going to be done.
  void tell(std::string_view how) const { listener_.tell(how); }
  /// Counts a call that began at `start`, and tells an observer of it. `how`: the plan, or why it was NCCL's.
  /// `state`: null for a communicator that sennit does not know.
  void count(const Call& call, std::string_view how, Time start, const CommState* state);
  void count(std::string_view name, std::uint64_t bytes, std::string_view how, Time start);
  /// Counts a call that sennit has done.
  void count_taken(unsigned long calls) { taken_.fetch_add(calls, std::memory_order_relaxed); }
  unsigned long taken() const { return taken_.load(std::memory_order_relaxed); }
  /// Notes a communicator: this process reports as its lowest rank in the largest one.
  void note(const CommPlace& place);
  /// Prints the report, at the program's end.
  void print() const;

 private:
  const bool reports_, explains_;
  const HowListener listener_;
  std::atomic<unsigned long> taken_{0};
  Report report_;
  Explanations explanations_;
  std::mutex mutex_;
  CommPlace largest_{0, 0, 0};  // of the communicators so far, with this process's lowest rank there
};

/// A default: the time between two looks at a communicator that NCCL or sennit is still at work on.
inline constexpr auto kLook = std::chrono::microseconds(50);

struct Process {
  Process(const Functions& functions, Switches from, std::unique_ptr<stage::PointerCache> memory)
      : nccl(functions), switches(std::move(from)), memories(std::move(memory)), tally(switches) {}

  const Functions nccl;
  const Switches switches;
  const std::unique_ptr<stage::PointerCache> memories;
  LastError last_error;
  CallTally tally;
  CommRegistry comms;

  /// Waits until NCCL is not at work on a communicator any more, or the program has aborted it. Returns what NCCL
  /// says of it. `state`: null for one that sennit does not know.
  int wait_for_nccl(CommState* state, Comm comm) const;
};

}  // namespace sennit::shim::nccl
