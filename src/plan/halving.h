// Searches for the fastest plan by successive halving: all promising candidates are timed a little, the better half
// twice as long, and so on (Jamieson and Talwalkar, Non-stochastic Best Arm Identification, 2016). Pure, given
// something that verifies and measures.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/status.h"
#include "plan/table.h"

namespace sennit::plan {

struct Candidate {
  coll::Plan plan;
  double predicted_us = 0;
};

/// Times a candidate; `effort` of 1, 2, 4, … is how many times as many repetitions as at least. The first call for a
/// plan also verifies its result. Errors: corrupt, where the plan's result is wrong: the plan is left out; others end
/// the search.
using Measure = std::function<Result<Timed>(const coll::Plan& plan, int effort)>;

/// All are defaults.
struct HalvingOptions {
  /// Candidates are tried that are predicted within this factor of the best, but no fewer than `least` and no more
  /// than `most`. Defaults: of all cases that the model is fitted to, the best was among those within 1.33.
  double promising = 1.4;
  std::size_t least = 6, most = 24;
  int efforts = 4;  ///< rounds at most: the last ones are timed 2^(efforts - 1) times as long
  /// A plan must gain so much on the model's choice to be taken instead, beyond the noise of both.
  double margin = 0.01;
  std::size_t kept = 4;  ///< plans
};

struct Found {
  std::vector<Timed> plans;       ///< the one to take first; then the others of the last rounds, by time
  double model_us = 0;            ///< what the first candidate took
  std::vector<coll::Plan> wrong;  ///< whose results were
  unsigned timed = 0;
  bool finished = true;  ///< false: the budget ended the search before its last round
};

/// `candidates` in the order of their predictions, at least one: the first is what would be taken without measuring,
/// and stays in to the end. `within_budget`: asked between measurements; false ends with what is known, which is
/// something after the first. Errors: the first that `measure` gives but for wrong results; corrupt where every
/// candidate's was wrong.
Result<Found> halve(std::vector<Candidate> candidates, const Measure& measure,
                    const std::function<bool()>& within_budget, const HalvingOptions& options = {});

/// Adds the fastest plans of at most so many blocks, found as halve() does, for each of Entry::kFewBlocks that the
/// plan to take first has more than; the first of them with no more is the one to take. No plan is found where all of
/// their results are wrong. Errors: the first that `measure` gives.
Result<Found> add_narrow(Found found, const std::vector<Candidate>& candidates, const Measure& measure,
                         const std::function<bool()>& within_budget);

}  // namespace sennit::plan
