// Holds what the drop-in keeps of each communicator of NCCL's, and how its threads share that.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "shim/nccl/abi/config.h"
#include "shim/nccl/comm_phase.h"
#include "shim/nccl/communicator.h"
#include "shim/nccl/held_operators.h"

namespace sennit::shim::nccl {

/// Counts the communicators made of one, for the keys of the next ones. It counts by who makes them: a shrink leaves
/// out ranks that do not know of it, so what all make together and what some make have counts of their own.
/// Thread-safe.
class ChildCounter {
 public:
  /// `makers`: the same text on the ranks that make one, another one where other ranks do.
  std::uint64_t next(const std::string& makers) {
    const std::lock_guard lock(mutex_);
    return made_[makers]++;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> made_;
};

/// Counts the threads in a section of code, for one that waits until it is empty. Sections are short: the wait spins.
class Section {
 public:
  void enter() { ++threads_; }
  void leave() { --threads_; }
  void wait_until_empty() const {
    while (threads_ != 0) std::this_thread::yield();
  }

 private:
  std::atomic<int> threads_{0};
};

/// What the drop-in knows of one communicator. `place`, `key` of a grown one, `communicator` and `reason` are set
/// before it is made, and stay: who has this has them, also when the program has ended the communicator.
struct CommState {
  CommPlace place;
  std::string key;  ///< what its ranks met by; empty: they did not
  std::shared_ptr<ChildCounter> children = std::make_shared<ChildCounter>();
  std::unique_ptr<Communicator> communicator;  ///< sennit's; null: all calls are NCCL's
  std::string reason;                          ///< why it is null
  HeldOperators operators;
  std::shared_ptr<const void> published;  ///< of a rendezvous that failed: later ranks see that this one was there
  Config config;                          ///< of this rank
  std::atomic<int> last_error{0};         ///< what NCCL said when it was last asked for errors
  Section nccl_queries;                   ///< threads in a CommGuard
  Section teardowns;                      ///< threads in a TeardownGuard

  ~CommState() { join(); }

  CommPhase phase() const { return phase_.load(); }
  /// Moves to the phase behind the event. Returns the phase before.
  CommPhase advance(CommEvent event) {
    CommPhase before = phase_.load();
    while (!phase_.compare_exchange_weak(before, next(before, event))) {
    }
    return before;
  }
  /// Ends the making. Returns false if the program has ended the communicator meanwhile: sennit's is to be aborted.
  bool finish_making() {
    return !is_over(advance(communicator != nullptr ? CommEvent::made : CommEvent::made_nccl_only));
  }

  /// Hands over the thread that makes it, which join() waits for.
  void made_by(std::thread thread) {
    const std::lock_guard lock(joining_);
    maker_ = std::move(thread);
  }
  /// Waits until no thread makes it.
  void join() {
    const std::lock_guard lock(joining_);
    if (maker_.joinable()) maker_.join();
  }
  /// Returns true if it may be destroyed: see Communicator::can_release().
  bool can_release() { return is_made(phase()) && (communicator == nullptr || communicator->can_release()); }

 private:
  std::atomic<CommPhase> phase_{CommPhase::making};
  std::thread maker_;
  std::mutex joining_;  // a destroy and an abort may join at the same time
};

/// Keeps NCCL's communicator from being freed by an abort while a thread asks NCCL of it. The abort waits for the
/// guard's end.
class CommGuard {
 public:
  /// Null: a communicator that sennit does not know, and cannot guard.
  explicit CommGuard(CommState* state) : state_(state) {
    if (state_ == nullptr) return;
    state_->nccl_queries.enter();
    holds_ = !is_over(state_->phase());
    if (!holds_) state_->nccl_queries.leave();
  }
  ~CommGuard() {
    if (state_ != nullptr && holds_) state_->nccl_queries.leave();
  }
  CommGuard(const CommGuard&) = delete;
  CommGuard& operator=(const CommGuard&) = delete;
  /// Returns false if the program has ended the communicator.
  explicit operator bool() const { return holds_; }

 private:
  CommState* const state_;
  bool holds_ = true;
};

/// Marks a thread that has ended a communicator here and lets NCCL end it next. Another thread that waited for that
/// end must not destroy NCCL's communicator before.
class TeardownGuard {
 public:
  explicit TeardownGuard(std::shared_ptr<CommState> state) : state_(std::move(state)) {
    if (state_ != nullptr) state_->teardowns.enter();
  }
  ~TeardownGuard() {
    if (state_ != nullptr) state_->teardowns.leave();
  }
  TeardownGuard(const TeardownGuard&) = delete;
  TeardownGuard& operator=(const TeardownGuard&) = delete;

 private:
  const std::shared_ptr<CommState> state_;
};

/// All communicators of a process. Thread-safe.
class CommRegistry {
 public:
  std::shared_ptr<CommState> find(Comm comm) const;
  void add(Comm comm, std::shared_ptr<CommState> state);
  /// Takes a communicator out. Returns false if another thread has: NCCL may have given its name to another one
  /// since.
  bool take(Comm comm, const CommState& state);
  /// Takes it out and moves it to the phase behind `event`, so that no thread sees the one without the other. Returns
  /// the phase before; empty if another thread has taken it.
  std::optional<CommPhase> end(Comm comm, CommState& state, CommEvent event);

  /// Keeps a communicator that the program has ended, and that is still being made or whose memory other ranks may
  /// still touch.
  void retire(std::shared_ptr<CommState> ended);
  /// Destroys the retired ones that can be. That may wait for whatever runs on their GPUs.
  void release_idle();

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Comm, std::shared_ptr<CommState>> all_;
  std::vector<std::shared_ptr<CommState>> retired_;
};

}  // namespace sennit::shim::nccl
