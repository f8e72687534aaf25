// Maps by swaps: from many starts as long as a swap helps, then by tabu search away from the best one.
#pragma once

#include <cstdint>

#include "place/cost.h"

namespace sennit::place {

/// Work, counted and not timed: the same input gives the same maps on every machine.
struct SearchEffort {
  int starts = 0;            ///< beside the identity and the greedy one; 0: chosen by the number of slots
  std::int64_t tries = 0;    ///< swaps that are looked at, all starts together; 0: likewise
  int tabu_iterations = -1;  ///< -1: likewise
};

/// Offers what it finds to `best`; the identity is among it, so the best is never worse.
void search(const Problem& problem, const SearchEffort& effort, Best& best);

/// Ranks in the order of what they have to do with those that are there already, each on the slot where that costs
/// least: a start.
Map greedy_map(const Problem& problem);

/// A generator of numbers that is the same everywhere (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  int below(int end) { return int(next() % std::uint64_t(end)); }

 private:
  std::uint64_t state_;
};

}  // namespace sennit::place
