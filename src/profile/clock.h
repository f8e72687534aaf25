// The clock of a profile's times: the processor's time-stamp counter where the kernel keeps its own time by it, which
// takes a third of clock_gettime(); else CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace sennit::profile {

/// CLOCK_MONOTONIC in ns.
std::uint64_t now_ns();

class Clock {
 public:
  /// One whose ticks are the ns of CLOCK_MONOTONIC.
  static Clock monotonic() { return Clock(false); }
  /// The cheapest one that all processors of this machine agree on.
  static Clock best();

  std::uint64_t now() const {
#if defined(__x86_64__)
    if (counts_cycles_) return __rdtsc();
#endif
    return now_ns();
  }
  bool counts_cycles() const {
    return counts_cycles_;
  }

  /// The same moment by this clock and by CLOCK_MONOTONIC, which differ by `error_ns` at most.
  struct Moment {
    std::uint64_t ticks = 0, ns = 0, error_ns = 0;
  };
  Moment moment() const;

 private:
  explicit Clock(bool counts_cycles) : counts_cycles_(counts_cycles) {}

  bool counts_cycles_;
};

}  // namespace sennit::profile
