// Operators of the program's (ncclRedOpCreatePreMulSum) that calls of open groups name. NCCL copies an operator when
// it gets the call, so the program may destroy the operator right behind the call; but a grouped call reaches NCCL at
// the group's end. So a destroy waits for the calls that name its operator.
#pragma once

#include <map>
#include <mutex>

namespace sennit::shim::nccl {

/// The held operators of one communicator. Thread-safe.
class HeldOperators {
 public:
  /// Notes a call that names `op` and has not reached NCCL yet.
  void hold(int op) {
    const std::lock_guard lock(mutex_);
    ++held_[op].calls;
  }
  /// Notes that the program destroys `op`. Returns false if no call holds it: NCCL may destroy it now.
  bool destroy_later(int op) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(op);
    if (found == held_.end()) return false;
    found->second.destroyed = true;
    return true;
  }
  /// Notes that a call of hold() has reached NCCL. Returns true if it was the last one of an operator that the
  /// program has destroyed meanwhile: NCCL is to destroy it now.
  bool release(int op) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(op);
    if (--found->second.calls > 0) return false;
    const bool destroyed = found->second.destroyed;
    held_.erase(found);
    return destroyed;
  }

 private:
  struct Held {
    int calls = 0;
    bool destroyed = false;
  };
  std::mutex mutex_;
  std::map<int, Held> held_;
};

}  // namespace sennit::shim::nccl
