#include "bench/measure/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace sennit::bench::measure {

double quantile(std::span<const double> ascending, double q) {
  if (ascending.empty()) return 0;
  const double at = std::clamp(q, 0.0, 1.0) * double(ascending.size() - 1);
  const auto below = std::size_t(at);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] + (at - double(below)) * (ascending[above] - ascending[below]);
}

Summary summarise(std::vector<double> samples_us) {
  std::erase_if(samples_us, [](double us) { return !std::isfinite(us) || us <= 0; });
  if (samples_us.empty()) return {};
  std::ranges::sort(samples_us);
  Summary summary;
  summary.median_us = quantile(samples_us, 0.5);
  summary.spread_us = (quantile(samples_us, 0.75) - quantile(samples_us, 0.25)) / 2;
  summary.min_us = samples_us.front();
  summary.p95_us = quantile(samples_us, 0.95);
  summary.repetitions = int(samples_us.size());
  return summary;
}

Result<Summary> repeat(Repeat how, const std::function<Status()>& once) {
  for (int i = 0; i < how.warm_up; ++i)
    if (auto status = once(); !status) return status;
  std::vector<double> samples;
  for (int i = 0; i < how.repetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (auto status = once(); !status) return status;
    samples.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  return summarise(std::move(samples));
}

}  // namespace sennit::bench::measure
