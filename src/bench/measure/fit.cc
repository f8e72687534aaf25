#include "bench/measure/fit.h"

#include <cmath>
#include <limits>

namespace sennit::bench::measure {

Result<FittedLine> fit_line(std::span<const Sample> samples) {
  const Status too_few(Code::invalid_argument, "a line needs times of two different sizes", {}, "Measure more sizes");
  // Weights 1 / us² make the squared errors relative. Sizes in MiB keep the sums near 1.
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
  for (const Sample& sample : samples) {
    if (!std::isfinite(sample.us) || sample.us <= 0) continue;
    const double x = double(sample.bytes) / (1 << 20), y = sample.us, weight = 1 / (y * y);
    w += weight, wx += weight * x, wxx += weight * x * x, wy += weight * y, wxy += weight * x * y;
  }
  const double determinant = w * wxx - wx * wx;
  if (!(determinant > 1e-12 * w * wxx)) return too_few;
  double slope = (w * wxy - wx * wy) / determinant;
  double startup = (wy - slope * wx) / w;
  if (startup < 0) startup = 0, slope = wxy / wxx;
  if (!(slope > 0))
    return Status(Code::invalid_argument, "larger messages did not take longer than smaller ones", {},
                  "Measure again while nothing else runs here, or with larger sizes");
  return FittedLine{startup, double(1 << 20) / (slope * 1e3)};
}

}  // namespace sennit::bench::measure
