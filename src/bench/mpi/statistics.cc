#include "bench/mpi/statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "bench/measure/timing.h"

namespace sennit::bench::mpi {

Median median_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {};
  std::ranges::sort(values);
  // The number of values below the median is binomial: n / 2 ± 1.96 √n / 2.
  const double n = double(values.size()), half = 0.98 * std::sqrt(n);
  const auto below = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - half)));
  const auto above = std::min(values.size() - 1, static_cast<std::size_t>(std::ceil(n / 2 + half)));
  return {measure::quantile(values, 0.5), values[below], values[above], int(values.size())};
}

Paired compare(std::span<const double> own_us, std::span<const double> other_us) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(own_us.size(), other_us.size()); ++i)
    if (const double ratio = other_us[i] / own_us[i]; own_us[i] > 0 && other_us[i] > 0 && std::isfinite(ratio))
      ratios.push_back(ratio);
  const Median found = median_of(std::move(ratios));
  return {found.value, found.low, found.high};
}

}  // namespace sennit::bench::mpi
