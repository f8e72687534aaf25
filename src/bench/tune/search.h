// Searches for the fastest share: pure, given something that measures.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/measure/timing.h"

namespace sennit::bench::tune {

/// Compares a split that has this part of the message off the direct path with the single path, both measured now:
/// returns single / split, so above 1 is faster.
using Measure = std::function<Result<double>(double share)>;

struct Found {
  double share = 0;  ///< 0: nothing beat the single path by more than the margin
  double ratio = 1;
};

/// Returns whether a split is faster than the single path beyond doubt: by more than a hundredth, and by more than
/// either time varied.
bool pays(const measure::Summary& single, const measure::Summary& split);

struct SearchOptions {
  double least = 0.01, most = 0.9;  ///< limits of the share
  double margin = 0.01;             ///< what a share must gain to be taken, beyond the noise
  /// The smallest of the shares this close to the best is taken: a slow path that gets too much delays the whole
  /// message ten times as much as the same error the other way, and other traffic only ever makes it slower.
  double tolerance = 0.004;
  int evaluations = 10;  ///< at most
};

/// Finds the share by steps from `seed`, outwards in the direction that gains, then halving the step: the ratio rises
/// while the direct path is the last to finish and falls when the other is. Every measurement counts; the answer is
/// one of the measured shares. Errors: the first that `measure` gives.
Result<Found> search(double seed, const Measure& measure, const SearchOptions& options = {});

}  // namespace sennit::bench::tune
