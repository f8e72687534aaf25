// The time of a run, divided into bins of one length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sennit::profile {

inline constexpr std::size_t kTimeBins = 60;

/// A run has a begin and an end by one clock.
struct RunSpan {
  std::uint64_t begin_ns = 0, end_ns = 0;

  std::uint64_t length_ns() const { return end_ns > begin_ns ? end_ns - begin_ns : 0; }
  /// The begin of a bin; that of kTimeBins is the run's end.
  std::uint64_t edge(std::size_t bin) const {
    const std::uint64_t length = length_ns();
    return begin_ns + length / kTimeBins * bin + length % kTimeBins * bin / kTimeBins;
  }
  /// The bin of a moment within the run.
  std::size_t bin_of(std::uint64_t ns) const {
    const double part = static_cast<double>(ns - begin_ns) / static_cast<double>(length_ns());
    auto bin = std::min(static_cast<std::size_t>(part * kTimeBins), kTimeBins - 1);
    while (edge(bin) > ns) --bin;
    while (bin + 1 < kTimeBins && edge(bin + 1) <= ns) ++bin;
    return bin;
  }
  /// Calls visit(bin, ns) of each bin that an interval has ns in; what lies outside of the run is left out.
  template <class Visit>
  void divide(std::uint64_t begin, std::uint64_t end, const Visit& visit) const {
    begin = std::max(begin, begin_ns);
    end = std::min(end, end_ns);
    if (begin >= end) return;
    for (std::size_t bin = bin_of(begin); begin < end; ++bin) {
      const std::uint64_t until = bin + 1 < kTimeBins ? std::min(end, edge(bin + 1)) : end;
      if (until > begin) visit(bin, until - begin);
      begin = std::max(begin, until);
    }
  }
};

}  // namespace sennit::profile
