// What holds of every problem, on many that nobody made by hand.
#include <gtest/gtest.h>

#include "place/cuts.h"
#include "place/exact.h"
#include "place/made_up.h"

namespace sennit::place {
namespace {

/// A tree, a machine's links, or nothing regular; up to `most` slots.
struct Case {
  Traffic traffic;
  Problem problem;
};

Case random_case(int most, Random& random) {
  static const machine::Machine machine = shipped("helios");
  static const path::Network network(machine);
  const int slots = 2 + random.below(most - 1), ranks = 1 + random.below(slots);
  Traffic traffic = random_traffic(ranks, random.below(4) == 0 ? 100 : 30, random);
  if (random.below(20) == 0) traffic = Traffic(ranks);
  const int kind = random.below(3);
  if (kind == 0) return {traffic, Problem(traffic, slots, random_costs(slots, random))};
  if (kind == 1) return {traffic, Problem(traffic, slots, tree_costs(slots))};
  std::vector<int> gpus;
  while (int(gpus.size()) < slots)
    if (const int gpu = network.index("gpu" + std::to_string(random.below(16)));
        std::ranges::find(gpus, gpu) == gpus.end())
      gpus.push_back(gpu);
  const auto graph = DeviceGraph::create(network, gpus).value();
  return {traffic, Problem::create(traffic, graph, {1, slots, 1}, Metric::contention).value()};
}

TEST(RandomProblems, AreSolvedAsByBruteForce) {
  Random random(20261128);
  for (int i = 0; i < cases(150, 10000); ++i) {
    const Case made = random_case(std::getenv("SENNIT_TEST_ALL") != nullptr ? 8 : thorough() ? 7 : 6, random);
    Best best;
    search(made.problem, {}, best);
    const Cost least_heaviest{least_heaviest_us(made.problem), 0};
    const Cost identity = made.problem.cost_of(made.problem.identity());
    EXPECT_FALSE(less(identity, best.first().cost)) << i;
    const Proof proof = prove(made.problem, kProofWork, best);
    const Cost least = brute_force(made.problem);
    ASSERT_TRUE(proof.proved) << i;
    ASSERT_FALSE(less(least, best.first().cost)) << i << ": " << least.heaviest_us << " " << least.sum << " and "
                                                 << best.first().cost.heaviest_us << " " << best.first().cost.sum;
    EXPECT_FALSE(less(least, least_heaviest)) << i;
    EXPECT_EQ(made.problem.cost_of(best.first().map), best.first().cost);
  }
}

TEST(RandomProblems, BoundsAreNoLargerThanCosts) {
  Random random(9);
  for (int i = 0; i < cases(40, 500); ++i) {
    const Case made = random_case(14, random);
    Best best;
    search(made.problem, {1, 2000, 0}, best);
    const Proof proof = prove(made.problem, std::uint64_t(random.below(200000)), best);
    EXPECT_FALSE(less(best.first().cost, proof.bound)) << i;
    for (const Found& each : best.all()) {
      Map sorted = each.map;
      std::ranges::sort(sorted);
      for (int slot = 0; slot < made.problem.slots(); ++slot) ASSERT_EQ(sorted[std::size_t(slot)], slot);
    }
  }
}

/// Other names of ranks, or of slots, are the same problem: its optimum costs as much.
TEST(RandomProblems, NamesDoNotMatter) {
  Random random(4);
  for (int i = 0; i < cases(60, 2000); ++i) {
    const int slots = 3 + random.below(6);
    const Traffic traffic = random_traffic(slots, 40, random);
    const std::vector<double> costs = random_costs(slots, random);
    std::vector<int> name(static_cast<std::size_t>(slots));
    std::iota(name.begin(), name.end(), 0);
    for (int k = slots - 1; k > 0; --k) std::swap(name[std::size_t(k)], name[std::size_t(random.below(k + 1))]);
    std::vector<double> renamed(costs.size());
    for (int a = 0; a < slots; ++a)
      for (int b = 0; b < slots; ++b)
        renamed[std::size_t(name[std::size_t(a)] * slots + name[std::size_t(b)])] = costs[std::size_t(a * slots + b)];
    const auto optimum = [](const Problem& problem) {
      Best best;
      search(problem, {}, best);
      EXPECT_TRUE(prove(problem, kProofWork, best).proved);
      return best.first().cost.sum;
    };
    const double least = optimum(Problem(traffic, slots, costs));
    EXPECT_DOUBLE_EQ(optimum(Problem(traffic.renamed(name), slots, costs)), least) << i;
    EXPECT_DOUBLE_EQ(optimum(Problem(traffic, slots, renamed)), least) << i;
  }
}

/// The same problem gives the same maps, the second time as the first.
TEST(RandomProblems, AreSolvedTheSameEachTime) {
  Random random(6);
  for (int i = 0; i < cases(10, 10); ++i) {
    const Case made = random_case(16, random);
    const auto maps = [&] {
      Best best;
      search(made.problem, {}, best);
      prove(made.problem, 300000, best);
      std::vector<Map> all;
      for (const Found& each : best.all()) all.push_back(each.map);
      return all;
    };
    EXPECT_EQ(maps(), maps());
  }
}

}  // namespace
}  // namespace sennit::place
