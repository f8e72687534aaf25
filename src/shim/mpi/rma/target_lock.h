// Makes accumulating calls atomic: one of them at a time works on a rank's memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/backoff.h"
#include "comm/group.h"

namespace sennit::shim::mpi {

/// Locks one rank's memory in all windows, among the processes of a node and their threads, until this object goes
/// away: what was written must be there before that.
class TargetLock {
 public:
  /// Errors: a rank was lost that held it.
  static Result<TargetLock> take(comm::Group& group, int target) {
    auto& word = group.slots(target).accumulate.holder;
    for (Backoff backoff;; backoff.wait()) {
      std::uint64_t nobody = 0;
      if (word.compare_exchange_weak(nobody, static_cast<std::uint64_t>(group.rank()) + 1, std::memory_order_acquire))
        return TargetLock(word);
      if (!group.failed() || nobody == 0) continue;
      const int holder = static_cast<int>(nobody - 1);
      if (auto status = group.check({&holder, 1}); !status) return status;
    }
  }
  TargetLock(TargetLock&& other) noexcept : word_(std::exchange(other.word_, nullptr)) {}
  TargetLock& operator=(TargetLock&&) = delete;
  ~TargetLock() {
    if (word_ != nullptr) word_->store(0, std::memory_order_release);
  }

 private:
  explicit TargetLock(std::atomic<std::uint64_t>& word) : word_(&word) {}
  std::atomic<std::uint64_t>* word_;
};

}  // namespace sennit::shim::mpi
