// What the drop-in knows of a communicator of NCCL's.
#pragma once

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shim/nccl/config.h"
#include "shim/nccl/counterpart.h"
#include "shim/nccl/held_operators.h"

namespace sennit::shim::nccl {

/// How many communicators were made of one, for the keys of the next ones. By who makes them: a shrink leaves out
/// ranks that do not know of it, so what all make together and what some make are counted apart. Thread-safe.
class Children {
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

struct Known {
  Shape shape;
  std::string key;  ///< what its ranks met by; empty: they did not. Of one that was grown, known once it is settled
  std::shared_ptr<Children> children = std::make_shared<Children>();
  /// Null: all calls are NCCL's, and why_not says why. Set before `settled`, and then as it is: who has the one has
  /// the other, also when the program has ended the communicator.
  std::unique_ptr<Counterpart> counterpart;
  std::string why_not;
  HeldOperators operators;
  std::shared_ptr<const void> announced;  ///< what was in vain: later ranks see that this one was there
  std::atomic<bool> settled{false};
  std::thread making;                   ///< of one that NCCL makes while the program goes on
  std::mutex joining;                   ///< of `making`, by whoever ends it: a destroy, and an abort meanwhile
  std::atomic<bool> finalizing{false};  ///< it does not block, and is done with once nothing of it is under way
  std::atomic<bool> given_up{false};    ///< the program has aborted it: NCCL must not be asked of it any more
  std::atomic<bool> freed{false};       ///< and that has ended NCCL's communicator, which a revoke leaves
  std::atomic<int> looking{0};          ///< how many threads ask NCCL of it at the moment
  std::atomic<int> ending{0};           ///< how many threads are in an Ending
  std::atomic<int> last_error{0};       ///< what NCCL said when it was last asked for errors
  Config config;                        ///< of this rank

  ~Known() { join(); }
  /// Has a thread make it, which join() waits for.
  void make_by(std::thread thread) {
    const std::lock_guard lock(joining);
    making = std::move(thread);
  }
  /// Waits until it is made, or not.
  void join() {
    const std::lock_guard lock(joining);
    if (making.joinable()) making.join();
  }
  /// While a thread has ended here what NCCL has yet to end, of a communicator that has to be there for that.
  class Ending {
   public:
    explicit Ending(std::shared_ptr<Known> known) : known_(std::move(known)) {
      if (known_ != nullptr) ++known_->ending;
    }
    ~Ending() {
      if (known_ != nullptr) --known_->ending;
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

   private:
    const std::shared_ptr<Known> known_;
  };
  /// For another thread that ends it, and waited for what that ended.
  void wait_for_endings() const {
    while (ending != 0) std::this_thread::yield();
  }
  /// Whether it may go: see Counterpart::may_go().
  bool may_go() {
    return settled.load(std::memory_order_acquire) && (counterpart == nullptr || counterpart->may_go());
  }
};

/// Keeps NCCL's communicator while it is asked something, so that an abort does not free it meanwhile; or says that
/// there was one. Short: the abort waits.
class Hold {
 public:
  /// Null: one that sennit does not know, and so cannot hold.
  explicit Hold(Known* known) : known_(known) {
    if (known_ == nullptr) return;
    ++known_->looking;
    if (known_->given_up) leave();
  }
  ~Hold() {
    if (!is_over_) leave();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  explicit operator bool() const { return !is_over_; }

  /// Ends those to come, and waits for those there are.
  static void end(Known& known) {
    known.given_up = true;
    while (known.looking != 0) std::this_thread::yield();
  }

 private:
  void leave() {
    if (known_ != nullptr) --known_->looking;
    is_over_ = true;
  }
  Known* known_;
  bool is_over_ = false;
};

/// All of a process. Thread-safe.
class KnownOnes {
 public:
  std::shared_ptr<Known> find(Comm comm) const {
    const std::shared_lock lock(mutex_);
    const auto found = all_.find(comm);
    return found != all_.end() ? found->second : nullptr;
  }
  void add(Comm comm, std::shared_ptr<Known> known) {
    const std::unique_lock lock(mutex_);
    all_[comm] = std::move(known);
  }
  /// Whoever takes it ends it. False: somebody else has, and NCCL may have given its name to another one since.
  bool take(Comm comm, const Known& known) {
    const std::unique_lock lock(mutex_);
    const auto found = all_.find(comm);
    if (found == all_.end() || found->second.get() != &known) return false;
    all_.erase(found);
    return true;
  }

  /// Keeps one that the program has ended, which is still being made, or whose counterpart's memory other ranks may
  /// still touch.
  void retire(std::shared_ptr<Known> ended) {
    const std::unique_lock lock(mutex_);
    retired_.push_back(std::move(ended));
  }
  /// Lets those go that nobody touches any more. That may wait for whatever runs on their GPUs.
  void let_go() {
    std::vector<std::shared_ptr<Known>> all;  // without the lock: others only look for theirs
    {
      const std::unique_lock lock(mutex_);
      all = std::exchange(retired_, {});
    }
    // Ranks of one process wait for each other here: one's step may be what another one's needed.
    for (int steps = 0; steps < 3; ++steps) std::erase_if(all, [](const auto& each) { return each->may_go(); });
    const std::unique_lock lock(mutex_);
    retired_.insert(retired_.end(), std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Comm, std::shared_ptr<Known>> all_;
  std::vector<std::shared_ptr<Known>> retired_;
};

}  // namespace sennit::shim::nccl
