#include "plan/correction.h"

#include <algorithm>

namespace sennit::plan {

std::size_t Correction::change(std::size_t to) {
  current_ = to;
  against_ = 0;
  since_ = 0;
  return to;
}

std::optional<std::size_t> Correction::observe(double us) {
  if (!(us > 0) || expected_.size() < 2) return std::nullopt;
  if (retry_ == 0) retry_ = options_.retry;
  double& believed = believed_[current_];
  believed = since_ == 0 ? us : believed + options_.smoothing * (us - believed);
  ++since_;
  const double expected = expected_[current_];
  const bool slow = us > expected * options_.slow && us > expected + options_.grace_us;
  against_ = slow ? against_ + 1 : 0;
  if (against_ >= options_.patience) {
    // The next one, unless that has been tried and was believed slower still: then the best of those that were.
    std::size_t best = current_;
    for (std::size_t i = 0; i < believed_.size(); ++i) {
      const double now = believed_[i] != 0 ? believed_[i] : expected_[i];
      const double own = believed_[current_];
      if (i != current_ && now < own * 0.9 &&
          (best == current_ || now < (believed_[best] != 0 ? believed_[best] : expected_[best])))
        best = i;
    }
    against_ = 0;
    if (best != current_) return change(best);
    return std::nullopt;
  }
  if (current_ != 0 && since_ >= retry_) {
    retry_ *= 2;
    believed_[0] = 0;  // what it was is long ago
    return change(0);
  }
  return std::nullopt;
}

}  // namespace sennit::plan
