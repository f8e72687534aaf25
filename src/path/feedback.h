// Corrects a split online: when shares stop finishing together because something else uses a link, they are moved
// until they do, and moved back when it stops.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "path/split.h"

namespace sennit::path {

/// Says why and how strongly shares are moved. All are defaults, found on simulated links with 3 % noise.
struct FeedbackOptions {
  double smoothing = 0.7;  ///< weight of the newest sample in a route's estimate
  double start_gap =
      0.10;                ///< first to last finish, as part of the whole, above which a sample asks for a correction
  double stop_gap = 0.05;  ///< below which a correction under way is good enough; less than start_gap: hysteresis
  int patience = 3;        ///< samples in a row that must ask before the first correction
  double step = 2;         ///< a correction changes what a route is believed to deliver by at most this factor
  double probe = 0.01;     ///< least share of a route of the plan, so that its recovery is seen
  double home = 0.05;      ///< routes within this of their planned rate are put back on the plan, exactly
};

/// Follows one pair of memories. It learns how fast each route is against its plan, which holds for messages of any
/// size; so one object serves all splits of the pair. Not thread-safe; the same samples give the same corrections.
class ShareFeedback {
 public:
  explicit ShareFeedback(FeedbackOptions options = {}) : options_(options) {}

  /// Takes in the measured finish times (µs from the start of the message, in the order of `used.shares`) of a
  /// message sent with `used`, which corrected(plan) gave, now or earlier. Returns whether corrected() changes by it.
  /// Samples with a time that is not positive, or with other routes than the plan's, are ignored.
  bool observe(const Split& plan, const Split& used, std::span<const double> finish_us);

  /// Returns the plan with its shares moved to finish together at the rates now believed; the plan itself while
  /// nothing is known against it, and when it has one share. predicted_us and each share's rate are what is now
  /// expected.
  Split corrected(const Split& plan) const;

  /// Returns whether corrected() differs from the plan it is given.
  bool correcting() const;

 private:
  // Says what is known of a route, as a factor on the rate that the plan gives it.
  struct Belief {
    std::string route;
    double estimate = 1;  ///< smoothed, follows every sample
    double applied = 1;   ///< what corrected() uses
  };
  const Belief* find(const std::string& route) const;
  Belief& belief(const std::string& route);
  bool correct();

  FeedbackOptions options_;
  std::vector<Belief> beliefs_;
  int asked_ = 0;        ///< samples in a row that asked for a correction
  bool moving_ = false;  ///< a correction is under way
};

}  // namespace sennit::path
