// Requests of the program that stand for more than the real library knows: what is to be done when one completes. The
// program holds the real library's own handle, so every function takes it.
#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "shim/mpi/handle.h"
#include "shim/mpi/shadows.h"

namespace sennit::shim::mpi {

struct OpenRequest {
  std::shared_ptr<Shadows> shadows;  ///< null: no memory of a GPU
  std::shared_ptr<void> kept;        ///< what the real function still looks at
  bool persistent = false;
  bool receives = false;  ///< its status says how much came
  bool active = true;     ///< persistent ones: between start and completion
};

class OpenRequests {
 public:
  /// One load: true in programs whose requests are all the host's.
  bool none() const { return count_.load(std::memory_order_relaxed) == 0; }

  void add(Handle request, OpenRequest open) {
    const std::unique_lock lock(mutex_);
    all_[request] = std::make_shared<OpenRequest>(std::move(open));
    count_.store(all_.size(), std::memory_order_relaxed);
  }
  /// Null: not one of these.
  std::shared_ptr<OpenRequest> find(Handle request) const {
    const std::shared_lock lock(mutex_);
    const auto found = all_.find(request);
    return found != all_.end() ? found->second : nullptr;
  }
  void remove(Handle request) {
    const std::unique_lock lock(mutex_);
    all_.erase(request);
    count_.store(all_.size(), std::memory_order_relaxed);
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<OpenRequest>> all_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace sennit::shim::mpi
