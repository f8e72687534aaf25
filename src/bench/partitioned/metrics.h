// Defines what is said of one iteration of a partitioned message, as functions of its times. Pure. The measures are
// those of Temuçin, Grant and Afsahi (Micro-Benchmarking MPI Partitioned Point-to-Point Communication, ICPP 2022),
// with unions that are unions; `Published` computes them as the public suite of that paper does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sennit::bench::partitioned {

/// Times of one partition, in µs of the clock that both ranks share.
struct Partition {
  double ready_us = 0;     ///< the call that says that the partition is ready begins
  double returned_us = 0;  ///< that call returns
  double arrived_us = 0;   ///< the receiver sees that the partition is there
};

/// Times of one message, in µs of the same clock. A message that is sent whole has one partition.
struct Iteration {
  double start_us = 0;   ///< threads begin to compute
  double joined_us = 0;  ///< the last thread is done with its partitions' calls
  double end_us = 0;     ///< both ranks may use their buffers again
  std::vector<Partition> partitions;
};

/// From where to where something lasts.
struct Interval {
  double begin = 0, end = 0;
};

/// Returns how long at least one of the intervals lasts, in any order: between the longest one and their sum.
double union_of(std::vector<Interval> intervals);

/// Says what one iteration comes to. Times are in µs.
struct Metrics {
  double transfer_us = 0;         ///< union of [ready, arrived] of all partitions
  double before_us = 0;           ///< of that, before the threads have joined; before + after is all of it
  double after_us = 0;            ///< of that, afterwards
  double exposed_us = 0;          ///< from the join to the last arrival; 0 where all have arrived before
  double last_us = 0;             ///< from the last partition's ready call to the last arrival
  double early_bird_percent = 0;  ///< of the transfer, what is before the join
};

/// Returns nothing where the times are none: without partitions, not finite, a call that returns or a partition that
/// arrives before it begins.
std::optional<Metrics> metrics_of(const Iteration& iteration);

/// Returns how many times as long as a whole message (`single_us`) the transfer takes: above 1 partitions cost more.
/// Nothing where one of the two is no duration.
std::optional<double> overhead(const Metrics& metrics, double single_us);

/// Returns how much of a whole message's time the program has for something else: 100 where nothing is left to do
/// after the join, 0 where as much is, below 0 where more is. Nothing where `single_us` is no duration.
std::optional<double> availability_percent(const Metrics& metrics, double single_us);

/// Returns the bandwidth that a whole message would have needed to arrive as early, in GB/s; it may exceed the
/// wire's. Nothing where the last partition arrives within the clock's resolution.
std::optional<double> perceived_gbps(const Metrics& metrics, std::uint64_t bytes);

/// Holds the times that the public suite computes, with its defects: a partition's time begins when the ready call
/// has returned; intervals are merged with the end of the one that begins last instead of the later end; and the join
/// is another phase's mean.
struct Published {
  double transfer_us = 0, before_us = 0, after_us = 0, last_us = 0;
};
/// Returns the union by that merge: of (0, 10) and (1, 2) it is 2.
double published_union_of(std::vector<Interval> intervals);
/// `mean_join_us`: after the start, in runs that compute and send nothing. Nothing where metrics_of() says nothing.
std::optional<Published> published(const Iteration& iteration, double mean_join_us);

}  // namespace sennit::bench::partitioned
