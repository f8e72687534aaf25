#include "bench/mpi/schedule.h"

#include <algorithm>
#include <cmath>

namespace sennit::bench::mpi {

namespace {

// Defaults. A batch is long enough for the clock, and short enough that the next variant's meets the same machine.
constexpr double kBatchUs = 1000;
constexpr int kMostCallsOfBatch = 10000;
// The fewest whose quartiles mean something; enough for the median of ratios to be known to 0.1 %.
constexpr int kFewestRounds = 7, kMostRounds = 2000;

}  // namespace

Schedule schedule(std::span<const double> call_us, double seconds) {
  Schedule planned;
  const double batch_us = std::min(kBatchUs, seconds * 1e6 / kFewestRounds);
  double round_us = 0;
  for (const double us : call_us) {
    const double calls = us > 0 ? std::clamp(batch_us / us, 1.0, double(kMostCallsOfBatch)) : kMostCallsOfBatch;
    planned.calls.push_back(static_cast<int>(calls));
    round_us += us * planned.calls.back();
  }
  const double budget_us = seconds * 1e6 * double(call_us.size());
  const double rounds = round_us > 0 ? budget_us / round_us : kMostRounds;
  planned.rounds = static_cast<int>(std::clamp(rounds, double(kFewestRounds), double(kMostRounds)));
  return planned;
}

int warming(std::span<const double> call_us, std::size_t which) {
  constexpr double kMuchLonger = 4;
  const double own = call_us[which], longest = *std::ranges::max_element(call_us);
  if (own <= 0 || longest < kBatchUs || longest < kMuchLonger * own) return 0;
  return static_cast<int>(std::clamp(std::ceil(kBatchUs / own), 1.0, double(kMostCallsOfBatch)));
}

std::vector<int> order(int round, int variants) {
  std::vector<int> order;
  for (int i = 0; i < variants; ++i) order.push_back((round + i) % variants);
  // Rounds alternate, or each variant would always follow the same one.
  if (round / variants % 2 == 1) std::ranges::reverse(order);
  return order;
}

}  // namespace sennit::bench::mpi
