// Fits the line t(n) = startup + n / rate to measured times.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"

namespace sennit::bench::measure {

struct Sample {
  std::uint64_t bytes = 0;
  double us = 0;
};

struct FittedLine {
  double startup_us = 0;
  double rate_gbps = 0;
  double at(std::uint64_t bytes) const { return startup_us + double(bytes) / (rate_gbps * 1e3); }
};

/// Fits by least squares on the relative error, so that 4 MiB and 1 GiB count alike. The startup is at least 0: where
/// the best line's would be negative, it is the best line through the origin. Samples without a time above 0 are not
/// counted. Errors: invalid_argument when fewer than two sizes are left, or when larger messages are not slower.
Result<FittedLine> fit_line(std::span<const Sample> samples);

}  // namespace sennit::bench::measure
