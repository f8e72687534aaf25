// Copies the parts of a partitioned message (MPI 4.0, chapter 4) whose memory is a GPU's: each goes to host memory
// when the program says that it is there, or from it when MPI says that it has come, while the others are not
// touched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "shim/mpi/staging/staged_buffers.h"

namespace sennit::shim::mpi {

/// Thread-safe: a program may have a thread for each part.
class Partitions {
 public:
  /// `receives`: they come; else they are sent. `distance`: bytes from the start of one part to the next. `bytes`:
  /// from the first byte of each to its last; `data`: what of the first one is data.
  Partitions(bool receives, int count, std::int64_t distance, std::int64_t bytes, std::vector<stage::Segments> data)
      : receives_(receives),
        distance_(distance),
        bytes_(bytes),
        data_(std::move(data)),
        brought_(static_cast<std::size_t>(count), true) {}

  bool receives() const { return receives_; }
  int count() const { return static_cast<int>(brought_.size()); }
  /// A start of the request: nothing has come.
  void start() {
    const std::lock_guard lock(mutex_);
    brought_.assign(brought_.size(), false);
  }
  /// Parts `low` to `high` are the program's no more.
  Status fill(StagedBuffers& staged, int low, int high) {
    const std::lock_guard lock(mutex_);                       // parts may lie between each other
    if (low < 0 || high >= count() || low > high) return {};  // the real function finds the fault
    return staged.copy_in_part(low * distance_, (high - low) * distance_ + bytes_);
  }
  /// One has come; the program may have written there since it was told so before.
  Status bring(StagedBuffers& staged, int part) {
    const std::lock_guard lock(mutex_);
    if (part < 0 || part >= count() || brought_[static_cast<std::size_t>(part)]) return {};
    brought_[static_cast<std::size_t>(part)] = true;
    return staged.copy_out_part(data_, part * distance_);
  }
  /// The message is over: all have come that do.
  Status finish(StagedBuffers& staged) {
    {
      const std::lock_guard lock(mutex_);
      if (receives_ && std::ranges::none_of(brought_, std::identity())) {  // none was asked for: all together
        brought_.assign(brought_.size(), true);
        return staged.copy_out(-1);
      }
    }
    for (int part = 0; receives_ && part < count(); ++part)
      if (auto status = bring(staged, part); !status) return status;
    return {};
  }

 private:
  const bool receives_;
  const std::int64_t distance_, bytes_;
  const std::vector<stage::Segments> data_;
  std::mutex mutex_;
  std::vector<bool> brought_;  // or not on its way: before the first start, all
};

}  // namespace sennit::shim::mpi
