#include "bench/map/cases.h"

#include <algorithm>
#include <ctime>
#include <numeric>

#include <fmt/format.h>

#include "place/exact.h"
#include "place/pattern.h"
#include "place/scotch.h"
#include "place/search.h"

namespace sennit::bench {

namespace {

using place::Traffic;

constexpr int kMostBrute = 9;  // limit: of 9 slots there are 362 880 permutations

/// Returns the processor time of this process: what else runs on the machine counts little in it.
double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

/// A kind of machine as costs between its slots; irregular ones differ by seed.
struct Kind {
  const char* name;
  int slots;
  std::vector<double> (*costs)(int slots, place::Random& random);
};

double& at(std::vector<double>& costs, int slots, int a, int b) {
  return costs[std::size_t(a) * std::size_t(slots) + std::size_t(b)];
}

/// Two leaves are as far apart as the levels up to their common branch say: 2, 4, 6, 12.
std::vector<double> tree(int slots, place::Random&) {
  constexpr double kByLevel[] = {0, 2, 4, 6, 12};
  std::vector<double> costs;
  for (int a = 0; a < slots; ++a)
    for (int b = 0; b < slots; ++b) {
      int level = 0;
      for (int x = a, y = b; x != y; x /= 2, y /= 2) ++level;
      costs.push_back(kByLevel[level]);
    }
  return costs;
}

/// Links between GPUs of a DGX-1V: two NVLinks 1, one 2, and 3 over another GPU's.
std::vector<double> cube_mesh(int slots, place::Random&) {
  constexpr double kFar = 3;
  constexpr int kDouble[][2] = {{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}};
  constexpr int kSingle[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 6}, {3, 7}, {4, 5}, {4, 6}, {5, 7}};
  std::vector<double> costs(std::size_t(slots) * std::size_t(slots), kFar);
  const auto set = [&](int a, int b, double cost) { at(costs, slots, a, b) = at(costs, slots, b, a) = cost; };
  for (int a = 0; a < slots; ++a) set(a, a, 0);
  for (const auto& pair : kDouble) set(pair[0], pair[1], 1);
  for (const auto& pair : kSingle) set(pair[0], pair[1], 2);
  return costs;
}

std::vector<double> irregular(int slots, place::Random& random) {
  std::vector<double> costs(std::size_t(slots) * std::size_t(slots), 0);
  for (int a = 0; a < slots; ++a)
    for (int b = 0; b < a; ++b) at(costs, slots, a, b) = at(costs, slots, b, a) = 1 + random.below(20);
  return place::closed_under_paths(std::move(costs), slots);
}

std::vector<double> nvswitch(int slots, place::Random&) {
  std::vector<double> costs(std::size_t(slots) * std::size_t(slots), 2);
  for (int a = 0; a < slots; ++a) at(costs, slots, a, a) = 0;
  return costs;
}

constexpr Kind kKinds[] = {{"tree", 4, tree},
                           {"tree", 8, tree},
                           {"tree", 16, tree},
                           {"DGX-1V", 8, cube_mesh},
                           {"irregular", 12, irregular},
                           {"irregular", 16, irregular},
                           {"NVSwitch", 8, nvswitch}};

constexpr const char* kTraffics[] = {"ring", "stencil", "30 % random", "dense"};

Traffic some(int ranks, int percent, place::Random& random) {
  Traffic traffic(ranks);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to && random.below(100) < percent) traffic.add(from, to, 1 + random.below(100));
  return traffic;
}

/// With ranks renamed, so that the identity is no good start by accident.
Traffic traffic_of(int which, int ranks, place::Random& random) {
  const int across = ranks == 4 ? 2 : 4;
  Traffic traffic = which == 0 ? place::parse_pattern(fmt::format("ring:{}", ranks), 10).value()
                    : which == 1
                        ? place::parse_pattern(fmt::format("2d-stencil:{}x{}", ranks / across, across), 10).value()
                        : some(ranks, which == 2 ? 30 : 100, random);
  std::vector<int> names(static_cast<std::size_t>(ranks));
  std::iota(names.begin(), names.end(), 0);
  for (int i = ranks - 1; i > 0; --i) std::swap(names[std::size_t(i)], names[std::size_t(random.below(i + 1))]);
  return traffic.renamed(names);
}

double least_of_all(const place::Problem& problem) {
  place::Map map(std::size_t(problem.slots()));
  std::iota(map.begin(), map.end(), 0);
  double least = problem.cost_of(map).sum;
  while (std::ranges::next_permutation(map).found) least = std::min(least, problem.cost_of(map).sum);
  return least;
}

Json spread(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  return {{"median", values[values.size() / 2]}, {"most", values.back()}};
}

/// Sums up the results of several problems of one kind.
struct Sums {
  std::vector<double> found_ms, proof_ms, gap, scotch_ms, scotch_loss;
  int proved = 0, brute = 0, optimal = 0, kept = 0, worse = 0;
};

void add_case(Sums& sums, const place::Problem& problem, const std::string& scotch, std::string& why_not) {
  double before = cpu_ms();
  place::Best best;
  place::search(problem, {}, best);
  sums.found_ms.push_back(cpu_ms() - before);
  const double searched = best.first().cost.sum;
  before = cpu_ms();
  const place::Proof proof = place::prove(problem, place::kProofWork, best);
  sums.proof_ms.push_back(cpu_ms() - before);
  const double ours = best.first().cost.sum;
  sums.proved += proof.proved;
  sums.kept += !place::less(ours, searched);
  sums.gap.push_back(proof.proved || ours <= 0 ? 0 : 1 - proof.bound.sum / ours);
  if (problem.slots() <= kMostBrute) {
    ++sums.brute;
    const double least = least_of_all(problem);
    sums.optimal += !place::less(least, ours);
  }
  const auto theirs = place::map_by_scotch(problem, scotch);
  if (!theirs) {
    why_not = theirs.status().what();
    return;
  }
  const double cost = problem.cost_of(theirs->map).sum;
  sums.scotch_ms.push_back(theirs->ms);
  sums.scotch_loss.push_back(ours > 0 ? cost / ours - 1 : 0);
  sums.worse += place::less(cost, searched);
}

}  // namespace

Result<Exit> print_cases(const CasesAsked& asked) {
  const Progress progress(asked.progress);
  Json rows = Json::array();
  std::string why_not;
  long done = 0;
  for (const Kind& kind : kKinds)
    for (int which = 0; which < int(std::size(kTraffics)); ++which) {
      progress.step(done++, long(std::size(kKinds) * std::size(kTraffics)), kind.name);
      place::Random random(std::uint64_t(kind.slots * 100 + which));
      Sums sums;
      for (int i = 0; i < asked.each; ++i) {
        std::vector<double> costs = kind.costs(kind.slots, random);
        const Traffic traffic = traffic_of(which, kind.slots, random);
        add_case(sums, place::Problem(traffic, kind.slots, std::move(costs)), asked.scotch, why_not);
      }
      const double loss = std::accumulate(sums.scotch_loss.begin(), sums.scotch_loss.end(), 0.0);
      rows.push_back(
          {{"machine", kind.name},
           {"slots", kind.slots},
           {"traffic", kTraffics[which]},
           {"cases", asked.each},
           {"found_ms", spread(sums.found_ms)},
           {"proved", sums.proved},
           {"proof_ms", spread(sums.proof_ms)},
           {"gap", spread(sums.gap)},
           {"brute_forced", sums.brute},
           {"optimal", sums.optimal},
           {"best_by_swaps", sums.kept},
           {"scotch_ms", spread(sums.scotch_ms)},
           {"scotch_loss", spread(sums.scotch_loss)},
           {"scotch_mean_loss", sums.scotch_loss.empty() ? Json() : Json(loss / double(sums.scotch_loss.size()))},
           {"worse_than_scotch", sums.worse}});
    }
  print({{"version", 1}, {"kind", "map cases"}, {"without_scotch", why_not}, {"rows", std::move(rows)}});
  return Exit::ok;
}

}  // namespace sennit::bench
