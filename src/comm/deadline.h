// Bounds every wait between ranks: each ends at a Deadline.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/status.h"

namespace sennit::comm {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// SENNIT_TIMEOUT. Errors: invalid_argument unless it is a whole number of seconds from 1 to 1000000.
Result<Clock::duration> wait_limit();

/// A moment after which waiting ends.
class Deadline {
 public:
  static Deadline after(Clock::duration limit) { return Deadline(Clock::now() + limit, limit); }

  bool passed() const { return Clock::now() >= end_; }
  /// Returns the time left for poll(2): rounded up so that a wait does not end early and spin; at most an hour, never
  /// negative.
  int poll_ms() const {
    const auto left = std::chrono::ceil<milliseconds>(end_ - Clock::now()).count();
    return int(std::clamp<long long>(left, 0, 3'600'000));
  }
  /// Returns the earlier of this and `limit` from now.
  Deadline at_most(Clock::duration limit) const {
    return Deadline(std::min(end_, Clock::now() + limit), std::min(limit_, limit));
  }
  /// Returns the time that was allowed from the start, for error messages.
  double seconds() const { return std::chrono::duration<double>(limit_).count(); }

 private:
  Deadline(Clock::time_point end, Clock::duration limit) : end_(end), limit_(limit) {}
  Clock::time_point end_;
  Clock::duration limit_;
};

}  // namespace sennit::comm
