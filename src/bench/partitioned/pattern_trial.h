// Measures one line of a pattern on all ranks: a back end in turns with whole messages, round by round.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bench/partitioned/link.h"
#include "bench/partitioned/options.h"
#include "bench/partitioned/pattern.h"
#include "bench/partitioned/threads.h"

namespace sennit::bench::partitioned {

/// Times of both in µs, round by round, each from the first rank's begin to the last rank's end. All ranks' results
/// of all rounds are equal to the bit, and those of the first round are what one process computes.
struct PatternSamples {
  std::vector<double> own, single;
  Ledger own_moved, single_moved;  ///< in a round, of all ranks, counted where it was done
  bool is_steady = false;          ///< the interval of the ratio's median is within 5 % of it
};

/// Returns the rounds' ratios single / own: above 1 the back end is faster.
std::vector<double> ratios(const PatternSamples& samples);

class PatternTrial {
 public:
  /// `started`: called on rank 0 after each round.
  PatternTrial(Link& link, const Options& options, std::function<void()> started)
      : link_(link), options_(options), started_(std::move(started)) {}

  /// Collective. Samples are empty but on rank 0. `cell.plan.bytes`: of a face. Errors: corrupt where results differ
  /// or the two ways did not move and compute the same; those of MPI.
  Result<PatternSamples> measure(const Cell& cell, const Shape& shape, Compute compute);

 private:
  Link& link_;
  const Options& options_;
  const std::function<void()> started_;
};

}  // namespace sennit::bench::partitioned
