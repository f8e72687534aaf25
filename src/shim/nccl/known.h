// What the drop-in knows of a communicator of NCCL's.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "shim/nccl/counterpart.h"

namespace sennit::shim::nccl {

struct Known {
  Shape shape;
  std::string key;  ///< what its ranks met by; empty: they did not. Of one that was grown, known once it is settled
  std::atomic<std::uint64_t> children{0};
  /// Null: all calls are NCCL's, and why_not says why. Set before `settled`, and then as it is.
  std::unique_ptr<Counterpart> counterpart;
  std::string why_not;
  std::shared_ptr<const void> announced;  ///< what was in vain: later ranks see that this one was there
  std::atomic<bool> settled{false};
  std::thread making;                 ///< of one that NCCL makes while the program goes on
  std::atomic<bool> given_up{false};  ///< nobody waits for `making` to succeed
  bool blocking = true;               ///< as NCCL's configuration has it; the same on all ranks

  ~Known() {
    if (making.joinable()) making.join();
  }
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
  std::shared_ptr<Known> take(Comm comm) {
    const std::unique_lock lock(mutex_);
    const auto found = all_.find(comm);
    if (found == all_.end()) return nullptr;
    auto known = std::move(found->second);
    all_.erase(found);
    return known;
  }

  /// Keeps a counterpart whose memory other ranks may still touch, and lets those go that nobody does any more.
  void retire(std::unique_ptr<Counterpart> counterpart) {
    std::vector<std::unique_ptr<Counterpart>> gone;  // end outside the lock
    const std::unique_lock lock(mutex_);
    if (counterpart != nullptr) retired_.push_back(std::move(counterpart));
    // Ranks of one process wait for each other here: one's step may be what another one's needed.
    for (int steps = 0; steps < 3; ++steps)
      for (auto each = retired_.begin(); each != retired_.end();) {
        if (!(*each)->may_go()) {
          ++each;
          continue;
        }
        gone.push_back(std::move(*each));
        each = retired_.erase(each);
      }
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Comm, std::shared_ptr<Known>> all_;
  std::vector<std::unique_ptr<Counterpart>> retired_;
};

}  // namespace sennit::shim::nccl
