// Computes a split: how much each route carries so that all finish together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sennit::path {

/// A route as a line: t(n) = overhead + n / rate, rate in GB/s and positive, time in µs.
struct RateLine {
  double overhead_us = 0;
  double gbps = 0;
};

/// Bytes of each line, and when the last byte arrives.
struct EqualFinish {
  std::vector<double> bytes;  ///< as `lines`; 0 for a line that could not even start in time
  double us = 0;
};

/// Computes the T with Σ max(0, (T − overhead) · rate) = bytes, in closed form: lines join in order of their
/// overheads until the next could no longer start before all is done. `bytes` > 0 and at least one line.
EqualFinish equal_finish(std::span<const RateLine> lines, double bytes);

/// Rounds shares to multiples of `alignment` that sum to `bytes` exactly: each is rounded down, what is left goes
/// to those that lost most (the earlier first), and the last share that carries anything takes the bytes beyond the
/// last multiple. `shares` must be ordered as they will lie in the message and sum to about `bytes`.
std::vector<std::uint64_t> round_shares(std::span<const double> shares, std::uint64_t bytes, std::uint64_t alignment);

}  // namespace sennit::path
