// Decides what becomes of the program's calls, alone and in groups. Translation alone: what is faster was measured
// (plan/), how it is done is coll/'s.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/nccl/lifecycle.h"

namespace sennit::shim::nccl {

/// Thread-safe.
class Calls {
 public:
  Calls(Process& process, Lifecycle& lifecycle) : process_(process), lifecycle_(lifecycle) {}

  /// Does a collective or a message, in a group or alone. Returns what NCCL would.
  int call(const Call& call);
  /// Does what NCCL alone can, by `make`, in the order of the communicator's other calls on the stream. In a group it
  /// comes before those: NCCL may look at what the program passes by address now and never again. `name`: in the
  /// report, where it has no bytes.
  int enqueue(std::string_view name, Comm comm, Stream stream, const std::function<int()>& make);

  // NCCL's functions, by their names and with their arguments: see functions.txt.
  int group_start();
  int group_end();
  int group_simulate_end(void* info);
  /// Calls of open groups that name the operator are not affected.
  int red_op_destroy(int op, Comm comm);
  int comm_window_register(Comm comm, void* data, std::size_t bytes, WindowHandle* made, int flags);
  int comm_window_deregister(Comm comm, WindowHandle window);

  /// Leaves calls to NCCL from now on, or does them as before; the same on all ranks between the same calls.
  void leave(bool to_nccl) { left_.store(to_nccl, std::memory_order_relaxed); }

 private:
  /// `in_group`: finish_emulated() is another step's.
  int perform(const Call& call, CommState& state, std::string_view how, bool in_group, bool on_side_stream);
  /// Keeps the call's operator until the last copy of the result is gone; null for an operator that NCCL itself has.
  std::shared_ptr<const void> hold_operator(const Call& call, const std::shared_ptr<CommState>& state);
  /// Puts what follows on the call's stream behind NCCL's calls of the communicator, whatever their streams.
  int put_behind_nccl(const Call& call, CommState& state);
  /// Hands a call to NCCL. `is_ordered`: StreamOrder knows of it already.
  int pass(const Call& call, CommState* state, std::string_view why, bool is_ordered = false);
  /// Hands calls to NCCL as one group. `ordered`: communicators whose StreamOrder knows of it.
  int pass_group(const std::vector<GroupedCall>& calls, std::span<const Comm> ordered);
  /// Returns what NCCL's `code` is once NCCL is done with these calls' communicators: of one that does not block it
  /// may be on its way.
  int await(int code, const std::vector<GroupedCall>& calls);
  /// Ends the thread's group, or one within it: `end` ends NCCL's, and gets the calls of the outermost one. What NCCL
  /// begins in a group, communicators and windows, it begins where the calls are only simulated, too.
  int leave_group(const std::function<int(std::vector<GroupedCall>)>& end);
  int run_group(std::vector<GroupedCall> calls);
  /// Begins the messages of one group, by both libraries, before any is waited for.
  int run_messages(std::span<const Run> runs);
  int perform_messages(const Run& run, CommState& state);
  /// Makes the program's streams wait for what sennit has begun. `first`: the error so far.
  int join_all(std::vector<const Run*>& begun, int first);
  void open_windows(std::vector<PendingWindow> windows);
  int failed(const CommState& state, const Call& call, const Status& status);
  /// Fails a call that NCCL was to do behind sennit's.
  int failed_before_nccl(const CommState& state, const Status& status);

  Process& process_;
  Lifecycle& lifecycle_;
  std::atomic<bool> left_{false};
};

}  // namespace sennit::shim::nccl
