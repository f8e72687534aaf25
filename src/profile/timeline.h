// Each process computed over the time of the run, or was in calls of some kind; in bins.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "profile/rank.h"
#include "profile/run_span.h"

namespace sennit::profile {

/// Kinds of calls. `waiting`: for requests, for messages that a probe looks for, and in collectives for the last
/// rank.
enum class Doing : std::uint8_t { collective, message, waiting, nccl, other };
inline constexpr std::size_t kDoings = 5;

Doing doing_of(std::string_view function, bool of_all);

/// Shares of each bin. What is missing to 1 was spent outside of calls.
struct Activity {
  int rank = -1;
  std::size_t from_bin = 0, to_bin = 0;  ///< mostly of its run, and of calls that its file still has
  std::array<std::array<double, kTimeBins>, kDoings> share{};
};

struct Interval {
  std::uint64_t begin = 0, end = 0;
  Doing doing = Doing::other;
};

/// `intervals`: by their begins. Where they overlap, as those of several threads do, their kinds share the time.
std::array<std::array<double, kTimeBins>, kDoings> shares_of(std::span<const Interval> intervals, const RunSpan& run);

/// A rank's activity is of its own run, without MPI_Init and MPI_Finalize. `waits`: of each of its calls, how many ns
/// of it were waiting for the last rank.
Activity activity_of(const Rank& rank, std::span<const std::uint64_t> waits, const RunSpan& run);

}  // namespace sennit::profile
