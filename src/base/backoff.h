// Backs off between looks at what ranks wait for, since their own messages must go on meanwhile.
#pragma once

#include <sched.h>

#include <chrono>

namespace sennit {

/// Waits between two looks at what others do: briefly at first, then leaving the processor to them. Unlike
/// comm::wait_until() it waits as long as MPI would, and never sleeps: this rank's messages move only while it looks
/// at them.
class Backoff {
 public:
  void wait() {
    if (!eager_) return (void)sched_yield();
    // The clock decides, since one look may take a tenth of a microsecond or several.
    const auto now = Clock::now();
    if (since_ == Clock::time_point()) since_ = now;
    eager_ = now - since_ < kEager;
  }

  /// Returns whether the next look follows at once: what is waited for comes soon unless something is amiss.
  bool eager() const { return eager_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kEager{20};  ///< a default

  Clock::time_point since_;  // the first look
  bool eager_ = true;
};

}  // namespace sennit
