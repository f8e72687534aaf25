// Machines, traffic and costs that mapping is tested on.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "machine/known.h"
#include "place/pattern.h"
#include "place/problem.h"
#include "place/search.h"
#include "places.h"
#include "thorough.h"

namespace sennit::place {

inline machine::Machine shipped(const std::string& name) {
  return machine::known_machine(places::source("machines/" + name + ".json"), "").value().machine;
}

inline Traffic pattern(const std::string& text, double bytes = 1) {
  return parse_pattern(text, bytes).value();
}

/// Distances of a tree with two children everywhere, by how many levels two leaves are apart: 2, 4, 6, 12 for 16.
inline std::vector<double> tree_costs(int leaves, const std::vector<double>& by_level = {2, 4, 6, 12}) {
  std::vector<double> costs;
  for (int a = 0; a < leaves; ++a)
    for (int b = 0; b < leaves; ++b) {
      int level = 0;
      for (int x = a, y = b; x != y; x /= 2, y /= 2) ++level;
      costs.push_back(level == 0 ? 0 : by_level[std::size_t(level - 1)]);
    }
  return costs;
}

/// Some pairs of `ranks`, each with a part of 100 of being there, of 1 to 9 bytes.
inline Traffic random_traffic(int ranks, int percent, Random& random) {
  Traffic traffic(ranks);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to && random.below(100) < percent) traffic.add(from, to, 1 + random.below(9));
  return traffic;
}

inline std::vector<double> random_costs(int slots, Random& random) {
  std::vector<double> costs(std::size_t(slots) * std::size_t(slots), 0);
  for (int a = 0; a < slots; ++a)
    for (int b = 0; b < a; ++b)
      costs[std::size_t(a * slots + b)] = costs[std::size_t(b * slots + a)] = 1 + random.below(20);
  return costs;
}

/// The least of all permutations.
inline Cost brute_force(const Problem& problem) {
  Map map(std::size_t(problem.slots()));
  std::iota(map.begin(), map.end(), 0);
  Cost least = problem.cost_of(map);
  while (std::ranges::next_permutation(map).found)
    if (const Cost cost = problem.cost_of(map); less(cost, least)) least = cost;
  return least;
}

/// Cases of a random test: few, a part of them under sanitizers, or, where all is asked for, as many as the whole.
inline int cases(int few, int all) {
  if (std::getenv("SENNIT_TEST_ALL") != nullptr) return all;
  return thorough() ? few : std::max(1, few / 6);
}

}  // namespace sennit::place
