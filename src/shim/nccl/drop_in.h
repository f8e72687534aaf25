// What becomes of the program's calls of NCCL. Translation alone: what is faster was measured (plan/), how it is done
// is coll/'s.
//
// A program's ncclComm_t stays NCCL's own, so that whatever sennit does not do is NCCL's as it is. Beside it there is
// a counterpart (counterpart.h), made when NCCL makes the communicator, where all ranks run with sennit on one
// machine.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/explanations.h"
#include "shim/nccl/call.h"
#include "shim/nccl/comm.h"
#include "shim/nccl/group.h"
#include "shim/nccl/growth.h"
#include "shim/nccl/meeting.h"
#include "shim/report.h"
#include "shim/switches.h"

namespace sennit::shim::nccl {

class DropIn {
 public:
  DropIn(const Functions& nccl, Switches switches, std::unique_ptr<Memories> memories)
      : nccl_(nccl), switches_(std::move(switches)), memories_(std::move(memories)) {}

  const Functions& nccl() const { return nccl_; }
  Memories& memories() { return *memories_; }

  /// A collective or a message, in a group or alone. What NCCL would return.
  int call(const Call& call);

  /// What NCCL alone does on the stream, by `make`, in the order of the communicator's other calls. In a group it
  /// comes before those: NCCL may look at what the program passes by address now and never again. `name`: in the
  /// report, where it has no bytes.
  int enqueue(std::string_view name, Comm comm, Stream stream, const std::function<int()>& make);

  int group_start();
  int group_end();
  int group_simulate_end(void* info);

  /// A communicator of `most` ranks at most, of which this is number `index`; `key`: what they know and no others.
  /// `make` is NCCL's own function, and leaves the communicator at `made`.
  int make(std::string key, int index, int most, const Config& config, Comm* made, const std::function<int()>& make);
  /// Of the devices of this process.
  int make_all(Comm* made, int count, const std::function<int()>& make);
  /// Of one that there is. `makers`: as Children has it; `how`: what only those share that will be in it. `config`:
  /// none: its parent's.
  int make_child(Comm parent, const std::string& makers, std::string_view how, std::optional<Config> config,
                 Comm* made, const std::function<int()>& make);
  /// Of one that there is (`parent` not null) and new ranks, by NCCL's arguments.
  int grow(Comm parent, int size, const UniqueId* id, int rank, std::optional<Config> config, Comm* made,
           const std::function<int()>& make);
  /// One that sennit leaves alone.
  int make_without(Comm* made, std::string why, const std::function<int()>& make);

  int finalize(Comm comm);
  int destroy(Comm comm);
  int abort(Comm comm);
  int revoke(Comm comm, int flags);
  int shrink(Comm comm, const std::set<int>& excluded, int flags, std::optional<Config> config, Comm* made,
             const std::function<int()>& make);

  /// Memory that the program registers with NCCL, as a window at `made`.
  struct Registering {
    Comm comm;
    void* data;
    std::size_t bytes;
    WindowHandle* made;
  };
  /// `make` is NCCL's own function.
  int open_window(const Registering& what, int flags, const std::function<int()>& make);
  int close_window(Comm comm, WindowHandle window);

  /// An operator that the program made. Calls of open groups that name it are not affected.
  int destroy_operator(int op, Comm comm);

  int async_error(Comm comm, int* error);
  const char* last_error(Comm comm);

  /// From now on calls are NCCL's, or as they were; the same on all ranks between the same calls.
  void leave(bool to_nccl) { left_.store(to_nccl, std::memory_order_relaxed); }
  /// How many calls of this process sennit has done.
  unsigned long taken() const { return taken_.load(std::memory_order_relaxed); }

  /// At the program's end.
  void report() const;

 private:
  /// How a communicator's ranks find each other.
  struct Announced {
    std::shared_ptr<const Meeting> meeting = nullptr;
    std::shared_ptr<const Growth> growth = nullptr;  ///< instead of a meeting, where it was grown
  };
  /// A communicator that NCCL makes at the end of the thread's group.
  struct Waiting {
    Comm* made;
    std::string key;
    Announced announced;
    Config config;
  };
  /// One made of a communicator that does not block: NCCL leaves it at `made` while the program goes on.
  struct Part {
    Comm parent;  ///< null: a new rank of one that grows
    std::chrono::steady_clock::time_point until;
    Waiting waiting;
  };
  /// The calling thread's group.
  struct Open {
    int depth = 0;
    std::vector<Grouped> calls;
    std::vector<Waiting> waiting;
    std::vector<Registering> windows;
  };
  static Open& open();
  /// NCCL has registered these.
  void open_windows(std::vector<Registering> windows);

  /// The communicator, where sennit has one; waits until that is certain.
  std::shared_ptr<CommState> settled(Comm comm);
  /// What make() has in common with the others: those that NCCL leaves at `made` before its function returns.
  int make_here(Waiting waiting, const std::function<int()>& make);
  /// And those that it leaves there later.
  int make_later(Comm parent, Waiting waiting, const std::function<int()>& make);
  /// NCCL has made these, or is about to.
  void begin_all(std::vector<Waiting> waiting, int code);
  /// Once NCCL has made it, on a thread for which `state` waits before it goes.
  void make_aside(CommState& state, Comm comm, Announced announced);
  /// Begins the parts that NCCL has made; those of `ended` that it has not, it will not, and if that did not end in
  /// order, none.
  void begin_parts(Comm ended = nullptr, bool in_order = true);
  void settle(CommState& state, const Announced& announced, bool own_thread);
  Status meet(CommState& state, const Announced& announced, bool own_thread);
  /// Collective over its ranks, as far as sennit is there.
  Result<Counterpart::Made> make_counterpart(CommState& state, const Announced& announced, bool own_thread);
  /// What sennit does there ends, on all ranks; later communicators made of it are as before.
  void leave_to_nccl(Comm comm, std::string why);
  Shape shape_of(Comm comm);
  /// Ends what nothing is under way of any more, or (not `is_done`) what cannot come to its end.
  void part_in_order(std::shared_ptr<CommState> state, bool is_done);
  /// Whatever sennit does there: whoever waits for it hears of that. `event`: abort or revoke. Returns true if it was
  /// made by then.
  bool end_at_once(Comm comm, Event event);
  /// Whether a communicator that does not block, and that is to be finalized, still does something here.
  static bool is_under_way(CommState& state);
  /// For who waited for the end of what another thread has aborted.
  int aborted_meanwhile();
  /// What NCCL's `code` is of a call that ends what did not end well.
  int ended(int code, const Status& status);

  int perform(const Call& call, CommState& state, std::string_view how, bool grouped, bool aside);
  /// Keeps the call's operator until the last copy of the result is gone; null for an operator that NCCL itself has.
  std::shared_ptr<const void> hold_operator(const Call& call, const std::shared_ptr<CommState>& state);
  /// Puts what follows on the call's stream behind NCCL's calls of the communicator, whatever their streams.
  int come_behind_nccl(const Call& call, CommState& state);
  /// `tells`: the counterpart, which was not told before.
  int pass(const Call& call, CommState* state, std::string_view why, bool tells = true);
  /// As one group. `told`: communicators whose counterparts know of it.
  int pass_group(const std::vector<Grouped>& calls, std::span<const Comm> told);
  /// What NCCL's `code` is once it is done with these calls' communicators: of one that does not block it may be on
  /// its way.
  int await(int code, const std::vector<Grouped>& calls);
  /// What NCCL says of a communicator once it is not at work on it any more, or when the program has aborted it.
  int wait_for_nccl(CommState* state, Comm comm);
  /// The thread's group, or one within it: `end` ends NCCL's, and gets the calls of the outermost one. What NCCL
  /// begins in a group, communicators and windows, it begins where the calls are only simulated, too.
  int leave_group(const std::function<int(std::vector<Grouped>)>& end);
  int end_group(std::vector<Grouped> calls);
  /// Those of one group, by both libraries: all begin before any is waited for.
  int end_messages(std::span<const Run> runs);
  int perform_messages(const Run& run, CommState& state);
  /// Waits, in the program's streams, for what sennit has begun. `first`: the error so far.
  int join_all(std::vector<const Run*>& begun, int first);
  int failed(const CommState& state, const Call& call, const Status& status);
  /// Of a call that NCCL was to do behind sennit's.
  int failed_before_nccl(const CommState& state, const Status& status);
  /// For ncclGetLastError; empty: what NCCL has to say is newer.
  void say(std::string_view text);
  /// NCCL's `code`, which the program gets: where it is an error, that is the latest one.
  int from_nccl(int code);
  /// Whether this process is the one that reports and explains: rank 0 of the job, else of the communicator.
  static bool speaks(const Shape& shape);
  /// For count(). Where nobody asked for a report the clock is not looked at: that is a tenth of what a call costs.
  std::chrono::steady_clock::time_point begin_count() const {
    return switches_.report ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  }
  void count(const Call& call, std::string_view how, std::chrono::steady_clock::time_point start,
             const CommState* state);
  void count(std::string_view name, std::uint64_t bytes, std::string_view how,
             std::chrono::steady_clock::time_point start);

  /// How often a communicator that NCCL is still at work on is looked at: a default.
  static constexpr auto kLook = std::chrono::microseconds(50);

  std::atomic<bool> left_{false};
  std::atomic<unsigned long> taken_{0};
  const Functions nccl_;
  const Switches switches_;
  const std::unique_ptr<Memories> memories_;
  CommRegistry comms_;
  std::mutex parts_mutex_;
  std::vector<Part> parts_;
  Report report_;
  Explanations explanations_;
  /// Of the latest error, as NCCL keeps its own: one for the process, in a place that stays.
  std::mutex said_mutex_;
  char said_[1024] = {};
  std::mutex largest_mutex_;
  Shape largest_{0, 0, 0};  // of the communicators so far, with this process's lowest rank there
};

}  // namespace sennit::shim::nccl
