// Corrects a choice online: a plan that keeps measuring slower than it should gives way to the next one, and is tried
// again later.
#pragma once

#include <optional>

#include "plan/table.h"

namespace sennit::plan {

/// All are defaults.
struct CorrectionOptions {
  double slow = 1.5;       ///< times what a plan should take, above which a sample counts against it
  double grace_us = 10;    ///< and more than that beyond it: what a launch may vary by
  int patience = 8;        ///< samples in a row that must count against a plan
  int retry = 256;         ///< samples after which the plan before is tried again; doubled by every failure
  double smoothing = 0.3;  ///< weight of the newest sample in what a plan is believed to take
};

/// Follows the calls of one case. Not thread-safe; the same samples give the same decisions.
class Correction {
 public:
  /// `expected`: what each plan should take in µs, the one to begin with first.
  explicit Correction(std::vector<double> expected, CorrectionOptions options = {})
      : options_(options), expected_(std::move(expected)), believed_(expected_.size(), 0.0) {}

  /// Takes in what a call took with the plan that was current. Returns the plan's index to change to, if any.
  std::optional<std::size_t> observe(double us);

  std::size_t current() const { return current_; }

 private:
  std::size_t change(std::size_t to);

  CorrectionOptions options_;
  std::vector<double> expected_;
  std::vector<double> believed_;  // smoothed; 0: never tried
  std::size_t current_ = 0;
  int against_ = 0;  // samples in a row
  int since_ = 0;    // samples since the last change
  int retry_ = 0;    // 0: not set
};

}  // namespace sennit::plan
