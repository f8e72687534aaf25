#include "bench/mpi/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/measure/timing.h"

namespace sennit::bench::mpi {

Paired compare(std::span<const double> own_us, std::span<const double> other_us) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(own_us.size(), other_us.size()); ++i)
    if (const double ratio = other_us[i] / own_us[i]; own_us[i] > 0 && other_us[i] > 0 && std::isfinite(ratio))
      ratios.push_back(ratio);
  if (ratios.empty()) return {};
  std::ranges::sort(ratios);
  // The number of ratios below the median is binomial: n / 2 ± 1.96 √n / 2.
  const double n = double(ratios.size()), half = 0.98 * std::sqrt(n);
  const auto below = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - half)));
  const auto above = std::min(ratios.size() - 1, static_cast<std::size_t>(std::ceil(n / 2 + half)));
  return {measure::quantile(ratios, 0.5), ratios[below], ratios[above]};
}

}  // namespace sennit::bench::mpi
