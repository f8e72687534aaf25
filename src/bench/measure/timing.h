// Summarises the times of one thing done several times. The statistics are pure functions.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/status.h"

namespace sennit::bench::measure {

/// Summarises repeated measurements, in µs.
struct Summary {
  double median_us = 0;
  double spread_us = 0;  ///< half the interquartile range
  double min_us = 0;
  double p95_us = 0;
  int repetitions = 0;  ///< samples that counted; 0: nothing was measured, and the rest is 0
};

/// Returns the value below which the part `q` (0 to 1) of ascending samples lies, on the straight line between the
/// two nearest. 0 without samples.
double quantile(std::span<const double> ascending, double q);

/// Samples that are not a duration (NaN, infinite, not above 0) are dropped.
Summary summarise(std::vector<double> samples_us);

/// Says how often something is done.
struct Repeat {
  int warm_up = 2;      ///< default: the first run pays for page tables, the second finds clocks raised
  int repetitions = 7;  ///< default of the quick measurement: the fewest that give quartiles a meaning
};

/// Does `once` and times it on the host's clock, from call to return. Ends at the first error.
Result<Summary> repeat(Repeat how, const std::function<Status()>& once);

}  // namespace sennit::bench::measure
