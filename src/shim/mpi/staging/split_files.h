// Keeps the host memory of collective operations on files that have begun and not ended: MPI has one at a time for
// each file.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "shim/mpi/abi/handle.h"
#include "shim/mpi/staging/staged_buffers.h"

namespace sennit::shim::mpi {

class SplitFiles {
 public:
  void put(Handle file, std::shared_ptr<StagedBuffers> staged) {
    const std::lock_guard lock(mutex_);
    all_[file] = std::move(staged);
  }
  /// Takes the staged buffers of a file's operation; null: it was begun without GPU memory.
  std::shared_ptr<StagedBuffers> take(Handle file) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(file);
    if (found == all_.end()) return nullptr;
    auto taken = std::move(found->second);
    all_.erase(found);
    return taken;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<StagedBuffers>> all_;
};

}  // namespace sennit::shim::mpi
