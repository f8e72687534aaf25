// Begins copies together that one look at several messages has found: some short ones by one kernel, which a GPU does
// in the time of one, others by engines, which do not stop between them to signal each.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "msg/batched_copy.h"

namespace sennit::msg {

class CopyScheduler;

/// A copy and the signal of its completion, which this process began or is about to begin. Thread-safe.
class InFlight {
 public:
  /// Looks at the copy; to be called now and then until completion is signalled. Never blocks. Errors: those of the
  /// device; it may then never be.
  Status look();
  /// Returns whether a kernel does the copy, with others.
  bool has_kernel();

 private:
  friend class CopyScheduler;
  std::mutex mutex_;
  device::Lane* lane_ = nullptr;  // an engine's; null until it is begun
  std::shared_ptr<BatchedCopy::Launch> launch_;
  BatchedCopy::Clock::time_point looked_;
};

/// While it lives, what this thread begins is collected; then all of it is begun. One within another does nothing.
/// Nothing that is done meanwhile may wait for any of it.
class CopyBatch {
 public:
  CopyBatch();
  ~CopyBatch();
  CopyBatch(const CopyBatch&) = delete;
  CopyBatch& operator=(const CopyBatch&) = delete;

  struct One {
    int device = -1;
    device::Lane* lane = nullptr;  ///< of the engine that does it, where it is one
    BatchedCopy::Copy copy;
    std::shared_ptr<InFlight> in_flight;
  };
  /// This thread's; null: what is begun begins at once.
  static CopyBatch* current();
  void add(CopyScheduler& by, One one);

 private:
  CopyScheduler* by_ = nullptr;
  std::vector<One> all_;
};

}  // namespace sennit::msg
