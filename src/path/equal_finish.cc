#include "path/equal_finish.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sennit::path {

EqualFinish equal_finish(std::span<const RateLine> lines, double bytes) {
  std::vector<int> order(lines.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) { return lines[i].overhead_us; });

  EqualFinish result;
  double rate = 0, late = 0;  // Σ rate, and Σ rate · overhead: bytes that overheads cost
  for (const int i : order) {
    const double per_us = lines[i].gbps * 1e3;
    if (rate > 0 && lines[i].overhead_us >= (bytes + late) / rate) break;
    rate += per_us;
    late += per_us * lines[i].overhead_us;
  }
  result.us = (bytes + late) / rate;
  for (const RateLine& line : lines)
    result.bytes.push_back(std::max(0.0, (result.us - line.overhead_us) * line.gbps * 1e3));
  return result;
}

std::vector<std::uint64_t> round_shares(std::span<const double> shares, std::uint64_t bytes,
                                        std::uint64_t alignment) {
  if (shares.empty()) return {};
  const std::uint64_t units = bytes / alignment;
  std::vector<std::uint64_t> count(shares.size());
  std::vector<double> lost(shares.size());
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double exact = std::max(0.0, shares[i] / double(alignment));
    count[i] = std::min(std::uint64_t(exact), units - given);
    lost[i] = exact - double(count[i]);
    given += count[i];
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return lost[i]; });
  const std::uint64_t each = (units - given) / shares.size(), extra = (units - given) % shares.size();
  for (std::size_t i = 0; i < order.size(); ++i) count[order[i]] += each + (i < extra ? 1 : 0);

  for (std::uint64_t& share : count) share *= alignment;
  const auto last = std::find_if(count.rbegin(), count.rend(), [](std::uint64_t share) { return share > 0; });
  (last == count.rend() ? count.front() : *last) += bytes % alignment;
  return count;
}

}  // namespace sennit::path
