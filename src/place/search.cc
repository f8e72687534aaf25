#include "place/search.h"

#include <algorithm>
#include <numeric>

namespace sennit::place {

namespace {

constexpr int kManyStarts = 4;  // default

/// Defaults by the number of slots; docs/use/map.md has what they take. (64 slots with resources: 100 000 tries and
/// 640 iterations found nothing better in six problems than 40 000 and 320, in three times the time.)
SearchEffort chosen(const Problem& problem, SearchEffort effort) {
  const int n = problem.slots();
  if (effort.starts == 0) effort.starts = n <= 4 ? 2 : n <= 8 ? 24 : n <= 16 ? 24 : n <= 32 ? 12 : 6;
  if (effort.tries == 0)
    effort.tries = n <= 16 ? 200000 : problem.has_resources() ? (n <= 32 ? 100000 : 40000) : 400000;
  if (effort.tabu_iterations < 0) effort.tabu_iterations = n <= 8 ? 0 : n <= 32 ? 40 * n : 5 * n;
  return effort;
}

/// Whether of any three slots the two largest costs are equal: so they are in a tree.
bool is_tree(const Problem& problem) {
  const int n = problem.slots();
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      for (int c = 0; c < n; ++c)
        if (a != b && problem.cost(a, b) > std::max(problem.cost(a, c), problem.cost(c, b))) return false;
  return true;
}

/// Any permutation, as likely as every other one; where ranks are pinned each as near to that as it may be.
Map random_map(const Problem& problem, Random& random) {
  Map map(std::size_t(problem.slots()));
  std::iota(map.begin(), map.end(), 0);
  for (std::size_t i = map.size(); i > 1; --i) std::swap(map[i - 1], map[std::size_t(random.below(int(i)))]);
  return problem.is_pinned() ? problem.fitted(map) : map;
}

/// Robust tabu search (Taillard 1991) on the sum: the best swap that was not made lately, better or worse; one that
/// leads to the best sum so far always. Local optima that it passes are offered.
void tabu(const Problem& problem, Walk walk, int iterations, Random& random, Best& best) {
  const int n = problem.slots(), last = std::min(n, problem.ranks());
  std::vector<int> until(std::size_t(n) * std::size_t(n), 0);  // of rank × slot: it may not go back there before
  const auto forbidden = [&](int rank, int slot) -> int& {
    return until[std::size_t(rank) * std::size_t(n) + std::size_t(slot)];
  };
  double least = walk.cost().sum;
  for (int now = 1; now <= iterations; ++now) {
    int best_a = -1, best_b = -1;
    double change = 0;
    for (int a = 0; a < last; ++a)
      for (int b = a + 1; b < n; ++b) {
        if (!walk.can_swap(a, b)) continue;
        const double each = walk.sum_change(a, b);
        const bool held =
            forbidden(a, walk.map()[std::size_t(b)]) > now && forbidden(b, walk.map()[std::size_t(a)]) > now;
        if (held && !less(walk.cost().sum + each, least)) continue;
        if (best_a < 0 || less(walk.cost().sum + each, walk.cost().sum + change))
          best_a = a, best_b = b, change = each;
      }
    if (best_a < 0) continue;
    for (const int rank : {best_a, best_b})
      forbidden(rank, walk.map()[std::size_t(rank)]) = now + n * 9 / 10 + random.below(n / 5 + 2);
    walk.swap(best_a, best_b);
    if (less(walk.cost().sum, least)) {
      least = walk.cost().sum;
      best.offer(walk.map(), walk.cost());
    }
  }
}

}  // namespace

Map greedy_map(const Problem& problem) {
  const auto n = std::size_t(problem.slots());
  Map map(n, -1);
  std::vector<char> placed(n, 0), taken(n, 0);
  std::vector<double> near(n, 0), total(n, 0);
  const auto place = [&](int rank, int slot) {
    map[std::size_t(rank)] = slot;
    placed[std::size_t(rank)] = 1;
    if (slot >= 0) taken[std::size_t(slot)] = 1;
    for (const Partner& partner : problem.partners(rank))
      near[std::size_t(partner.rank)] += partner.to + partner.from;
  };
  for (int rank = 0; rank < problem.slots(); ++rank)
    for (const Partner& partner : problem.partners(rank)) total[std::size_t(rank)] += partner.to + partner.from;
  const Map home = problem.identity();
  for (int rank = 0; rank < problem.slots(); ++rank)
    if (problem.is_fixed(rank)) place(rank, home[std::size_t(rank)]);
  while (true) {
    int next = -1;
    for (int rank = 0; rank < problem.slots(); ++rank)
      if (!placed[std::size_t(rank)] &&
          (next < 0 || std::pair(near[std::size_t(rank)], total[std::size_t(rank)]) >
                           std::pair(near[std::size_t(next)], total[std::size_t(next)])))
        next = rank;
    if (next < 0) return problem.is_pinned() ? problem.fitted(map) : map;
    int where = -1;
    double least = 0;
    for (int slot = 0; slot < problem.slots(); ++slot) {
      if (taken[std::size_t(slot)] || !problem.allows(next, slot)) continue;
      double cost = 0;
      for (const Partner& partner : problem.partners(next))
        if (map[std::size_t(partner.rank)] >= 0)
          cost += problem.pair_cost(partner, slot, map[std::size_t(partner.rank)]);
      if (where < 0 || less(cost, least)) where = slot, least = cost;
    }
    place(next, where);
  }
}

void search(const Problem& problem, const SearchEffort& asked, Best& best) {
  const SearchEffort effort = chosen(problem, asked);
  const Map identity = problem.identity();
  best.offer(identity, problem.cost_of(identity));
  Random random(0x5e44174);
  std::int64_t tries = effort.tries;
  int reached = 0;  // starts that ended at the best cost so far
  for (int start = -2; start < effort.starts && tries > 0; ++start) {
    Walk walk(problem, start == -2 ? identity : start == -1 ? greedy_map(problem) : random_map(problem, random));
    if (problem.has_resources()) {
      // Every second start goes for the sum first: near is often not crowded either.
      if (start % 2 == 0) walk.descend(Goal::sum, tries);
      best.offer(walk.map(), walk.cost());
      walk.descend(Goal::evenness, tries);
      best.offer(walk.map(), walk.cost());
      walk.descend(Goal::cost, tries);
    } else {
      walk.descend(Goal::sum, tries);
    }
    if (less(walk.cost(), best.first().cost)) reached = 0;
    reached += !less(best.first().cost, walk.cost());
    best.offer(walk.map(), walk.cost());
  }
  // What many starts lead to is hardly ever not the best, and on a tree swaps alone get there.
  if (effort.tabu_iterations == 0 || reached >= kManyStarts || is_tree(problem)) return;
  const std::vector<Found> from = best.all();
  for (std::size_t i = 0; i < std::min<std::size_t>(from.size(), problem.slots() <= 16 ? 4 : 1); ++i)
    tabu(problem, Walk(problem, from[i].map), effort.tabu_iterations, random, best);
  if (problem.has_resources())
    for (int i = 0; i < std::min(3, int(best.all().size())); ++i) {
      Walk walk(problem, best.all()[std::size_t(i)].map);
      walk.descend(Goal::cost, tries);
      best.offer(walk.map(), walk.cost());
    }
}

}  // namespace sennit::place
