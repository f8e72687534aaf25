#include "bench/tune/search.h"

#include <algorithm>
#include <map>

namespace sennit::bench::tune {

bool pays(const measure::Summary& single, const measure::Summary& split) {
  constexpr double kMargin = 0.01;  // a default: less is not worth a second path
  if (single.repetitions == 0 || split.repetitions == 0) return false;
  const double noise = std::max(single.spread_us, split.spread_us);
  return single.median_us - split.median_us > std::max(kMargin * split.median_us, noise);
}

Result<Found> search(double seed, const Measure& measure, const SearchOptions& options) {
  std::map<double, double> ratios;  // by share
  const auto at = [&](double share) -> Result<double> {
    share = std::clamp(share, options.least, options.most);
    if (const auto known = ratios.find(share); known != ratios.end()) return known->second;
    auto ratio = measure(share);
    if (ratio.ok()) ratios[share] = *ratio;
    return ratio;
  };

  double best = std::clamp(seed, options.least, options.most);
  auto first = at(best);
  if (!first) return first.status();
  double best_ratio = *first;
  for (double step = 1.3; static_cast<int>(ratios.size()) < options.evaluations && step > 1.02;) {
    bool moved = false;
    // Downwards first: the dearer error is a share that is too large.
    for (const double next : {best / step, best * step}) {
      if (static_cast<int>(ratios.size()) >= options.evaluations) break;
      auto ratio = at(next);
      if (!ratio) return ratio.status();
      if (*ratio <= best_ratio) continue;
      best_ratio = *ratio;
      best = std::clamp(next, options.least, options.most);
      moved = true;
      break;
    }
    if (!moved) step = 1 + (step - 1) / 2;
  }
  for (const auto& [share, ratio] : ratios) {
    if (ratio < best_ratio * (1 - options.tolerance)) continue;
    if (ratio < 1 + options.margin) return Found{};
    return Found{share, ratio};
  }
  return Found{};
}

}  // namespace sennit::bench::tune
