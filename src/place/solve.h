// All solvers behind one question: where the ranks go as it is, by the paper's way, by swaps, and proved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "place/exact.h"
#include "place/nodes.h"
#include "place/scotch.h"

namespace sennit::place {

enum class Solver { identity, swaps, exact, scotch };
std::string_view name(Solver solver);
/// Errors: invalid_argument, listing those there are.
Result<Solver> parse_solver(std::string_view text);

/// Limits: slots of which every pair is kept with its links; with more, nodes are mapped one by one. And slots up to
/// which a proof is tried.
inline constexpr int kMostFlat = 64, kMostProved = 20;

struct Question {
  const Traffic* traffic = nullptr;
  const DeviceGraph* graph = nullptr;
  Slots slots;
  Metric metric = Metric::contention;
  std::vector<Pin> pins;
  std::vector<Solver> solvers{Solver::identity, Solver::swaps, Solver::exact};
  std::uint64_t proof_work = kProofWork;
  std::string scotch_library;  ///< empty: where the system has it
};

/// What one solver found.
struct Answer {
  Solver solver = Solver::identity;
  Map map;
  Cost cost;      ///< the heaviest load, and the metric's sum
  double ms = 0;  ///< of the solver
  std::optional<Proof> proof;
};

struct Solution {
  std::vector<Answer> answers;        ///< in the order of the solvers asked for, without those left out
  std::vector<Found> best;            ///< the cheapest maps, at most ten, the first the cheapest
  std::vector<std::string> left_out;  ///< "scotch: libscotch cannot be opened …"
};

/// Errors: as Problem::create().
Result<Solution> solve(const Question& question);

}  // namespace sennit::place
