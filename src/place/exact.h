// The proof that a map is the best, or how far it may be off: branch and bound.
//
// 1. Ranks are placed one by one, those first that have most to do with the ones that are there; of slots that a
//    symmetry of the machine exchanges, one is tried.
// 2. A partial map is given up when no map that goes on from it can be cheaper than the best one: its sum is at least
//    what Gilmore and Lawler's bound says (1962; a linear assignment of each rank's sorted traffic with each slot's
//    sorted costs), its heaviest load at least what it is by now, and what cuts of the machine say.
// 3. Work is counted, not timed: the same input ends the same on every machine.
#pragma once

#include <cstdint>

#include "place/cost.h"

namespace sennit::place {

struct Proof {
  bool proved = false;      ///< nothing is cheaper than the best
  Cost bound;               ///< no map costs less
  std::uint64_t nodes = 0;  ///< partial maps that were looked at
};

/// default: some second on one core.
inline constexpr std::uint64_t kProofWork = 250'000'000;

/// Takes `best`, which has a map, down to the optimum where `work` suffices.
Proof prove(const Problem& problem, std::uint64_t work, Best& best);

/// The least cost of an assignment of each of `rows` to one of `columns` (at least as many) of its own, of a matrix
/// row by row (Hungarian method).
double assign_least(std::span<const double> matrix, int rows, int columns);

}  // namespace sennit::place
