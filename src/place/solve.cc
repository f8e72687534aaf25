#include "place/solve.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/format.h>

namespace sennit::place {

namespace {

constexpr std::size_t kMostFound = 10;  // maps that are worth being simulated
constexpr std::array<std::string_view, 4> kSolvers = {"identity", "swaps", "exact", "scotch"};

/// Runs `work` and says how much of a processor's time it took: what else the machine does is not counted.
template <class Work>
double timed_ms(const Work& work) {
  const std::clock_t before = std::clock();
  work();
  return 1e3 * double(std::clock() - before) / CLOCKS_PER_SEC;
}

/// Of many slots: identity, and nodes one by one. Nothing is proved.
Result<Solution> solve_by_nodes(const Question& asked) {
  Solution solution;
  Best best;
  const auto offer = [&](Solver solver, Map map, double ms) {
    const Cost cost = cost_of(*asked.traffic, *asked.graph, asked.slots, asked.metric, map);
    best.offer(map, asked.metric == Metric::contention ? cost : Cost{0, cost.sum});
    solution.answers.push_back({solver, std::move(map), cost, ms, {}});
  };
  for (const Solver solver : asked.solvers) {
    if (solver == Solver::identity) {
      Map map(std::size_t(asked.slots.size()));
      for (std::size_t i = 0; i < map.size(); ++i) map[i] = int(i);
      if (!asked.pins.empty()) continue;  // who is pinned may be elsewhere: the solver starts from there
      offer(solver, std::move(map), 0);
    } else if (solver == Solver::swaps) {
      Result<Map> map = Map();
      const double ms =
          timed_ms([&] { map = map_by_nodes(*asked.traffic, *asked.graph, asked.slots, asked.metric, asked.pins); });
      if (!map) return map.status();
      offer(solver, std::move(*map), ms);
    } else {
      solution.left_out.push_back(fmt::format("{}: of up to {} slots, here are {}", name(solver),
                                              solver == Solver::exact ? kMostProved : kMostFlat, asked.slots.size()));
    }
  }
  solution.best = best.all();
  return solution;
}

/// Maps that are good by bytes × links alone: where latencies decide and no link is full, the fastest is one of them.
void search_near(const Question& asked, const Map& start, Best& near) {
  const int n = asked.slots.size();
  const double between = cost_between_nodes(*asked.graph, Metric::contention);
  std::vector<double> costs;
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      costs.push_back(asked.slots.node(a) != asked.slots.node(b)
                          ? between
                          : asked.graph->cost(Metric::contention, asked.slots.gpu(a), asked.slots.gpu(b)));
  Problem problem(*asked.traffic, n, std::move(costs));
  if (!problem.pin(asked.pins).ok()) return;
  near.offer(start, problem.cost_of(start));
  search(problem, {}, near);
}

}  // namespace

std::string_view name(Solver solver) {
  return kSolvers[std::size_t(solver)];
}

Result<Solver> parse_solver(std::string_view text) {
  for (std::size_t i = 0; i < kSolvers.size(); ++i)
    if (kSolvers[i] == text) return Solver(i);
  return Status(Code::invalid_argument, fmt::format("there is no solver '{}'", text), {},
                "Name identity, swaps, exact, scotch or all");
}

Result<Solution> solve(const Question& asked) {
  if (asked.slots.size() > kMostFlat && asked.traffic->ranks() <= asked.slots.size()) return solve_by_nodes(asked);
  const auto problem = Problem::create(*asked.traffic, *asked.graph, asked.slots, asked.metric, asked.pins);
  if (!problem) return problem.status();
  Solution solution;
  Best best, near;
  const auto answer = [&](Solver solver, const Found& found, double ms) -> Answer& {
    best.offer(found.map, found.cost);
    solution.answers.push_back(
        {solver, found.map, cost_of(*asked.traffic, *asked.graph, asked.slots, asked.metric, found.map), ms, {}});
    return solution.answers.back();
  };
  const auto found_of = [&](const Map& map) { return Found{map, problem->cost_of(map)}; };
  const Found identity = found_of(problem->identity());
  best.offer(identity.map, identity.cost);
  for (const Solver solver : asked.solvers) switch (solver) {
      case Solver::identity: answer(solver, identity, 0); break;
      case Solver::swaps: {
        Best here;
        const double ms = timed_ms([&] {
          if (asked.slots.nodes > 1)
            if (const auto map = map_by_nodes(*asked.traffic, *asked.graph, asked.slots, asked.metric, asked.pins);
                map)
              here.offer(*map, problem->cost_of(*map));
          search(*problem, {}, here);
        });
        answer(solver, here.first(), ms);
        for (const Found& each : here.all()) best.offer(each.map, each.cost);
        if (asked.metric == Metric::contention) search_near(asked, here.first().map, near);
        break;
      }
      case Solver::exact: {
        if (asked.slots.size() > kMostProved) {
          solution.left_out.push_back(
              fmt::format("exact: of up to {} slots, here are {}", kMostProved, asked.slots.size()));
          break;
        }
        Best here = best;  // what others found is where it starts
        Proof proof;
        const double ms = timed_ms([&] { proof = prove(*problem, asked.proof_work, here); });
        answer(solver, here.first(), ms).proof = proof;
        for (const Found& each : here.all()) best.offer(each.map, each.cost);
        break;
      }
      case Solver::scotch: {
        const auto map = map_by_scotch(*problem, asked.scotch_library);
        if (!map)
          solution.left_out.push_back(fmt::format("scotch: {}", map.status().what()));
        else
          answer(solver, found_of(map->map), map->ms);
        break;
      }
    }
  solution.best = best.all();
  // Half of the ten by each, as far as there are as many.
  if (!near.empty() && solution.best.size() > kMostFound / 2)
    solution.best.resize(std::max(kMostFound / 2, kMostFound - std::min(kMostFound, near.all().size())));
  for (const Found& each : near.all())
    if (solution.best.size() < kMostFound &&
        std::ranges::find(solution.best, each.map, &Found::map) == solution.best.end())
      solution.best.push_back({each.map, problem->cost_of(each.map)});
  return solution;
}

}  // namespace sennit::place
