// Compares two variants whose batches took turns. Pure.
#pragma once

#include <span>
#include <vector>

namespace sennit::bench::mpi {

/// The median of some values, and between which two of them it lies in 19 of 20 runs, whatever their distribution
/// (order statistics of the binomial). All 0: there were none.
struct Median {
  double value = 0, low = 0, high = 0;
  int count = 0;
};
/// Values that are not finite are left out.
Median median_of(std::vector<double> values);

/// The median of the ratios of each round, with its interval. All 0: nothing was compared.
struct Paired {
  double ratio = 0, low = 0, high = 0;
};

/// other / own of each round: how many times as fast `own` is. Rounds without a valid time are left out.
Paired compare(std::span<const double> own_us, std::span<const double> other_us);

}  // namespace sennit::bench::mpi
