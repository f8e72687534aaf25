// Says how often each variant of a case is called, and in which order. Pure.
#pragma once

#include <span>
#include <vector>

namespace sennit::bench::mpi {

/// Calls of one variant for a while, then of the next for as long, and again: what disturbs a machine for longer than
/// a batch meets all of them, and each has as long to find the machine as it is where it alone is used.
struct Schedule {
  int rounds = 0;
  std::vector<int> calls;  ///< in a batch of each variant
};

/// `call_us`: of each variant, all that a call takes, as it was just seen; `seconds`: for each variant, which takes
/// more only where so few calls say nothing.
Schedule schedule(std::span<const double> call_us, double seconds);

/// Untimed calls before each batch of a variant: some when batches of others are much longer than its own, since GPUs
/// that had nothing to do for so long are slow at first. `call_us`: of all variants; `which`: this one.
int warming(std::span<const double> call_us, std::size_t which);

/// Returns the variants in the order of a round: everyone comes first, and right after each other one, as often.
std::vector<int> order(int round, int variants);

}  // namespace sennit::bench::mpi
