#include "place/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/exact.h"
#include "place/made_up.h"
#include "place/nodes.h"

namespace sennit::place {
namespace {

/// A 3D torus of 4 × 2 × 2 on a tree of distances 2, 4, 6, 12, by hand, with x the slowest, in the middle and the
/// fastest. Two messages to one neighbour count twice: counted once, it is the same graph as a 2D torus and a
/// hypercube.
TEST(Cost, OfATorusByHand) {
  const struct {
    const char* order;
    double plain, weighted;
  } numberings[] = {{"xyz", 480, 1056}, {"yxz", 608, 928}, {"yzx", 672, 864}};
  for (const auto& each : numberings)
    for (const bool weighted : {false, true}) {
      const Problem problem(pattern(std::string("3d-torus:4x2x2,order=") + each.order + (weighted ? ",w=3" : "")), 16,
                            tree_costs(16));
      EXPECT_EQ(problem.cost_of(problem.identity()).sum, weighted ? each.weighted : each.plain) << each.order;
      Best best;
      search(problem, {}, best);
      EXPECT_EQ(best.first().cost.sum, weighted ? 864 : 480) << each.order;
      if (!thorough()) continue;
      EXPECT_TRUE(prove(problem, kProofWork, best).proved) << each.order << weighted;
      EXPECT_EQ(best.first().cost.sum, weighted ? 864 : 480);
    }
}

/// A walk's changes are what reckoning anew gives.
TEST(Walk, KnowsWhatASwapChanges) {
  Random random(3);
  const machine::Machine machine = shipped("helios");
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network).value();
  const Traffic traffic = random_traffic(13, 40, random);
  const auto problem = Problem::create(traffic, graph, {1, 16, 1}, Metric::contention).value();
  Walk walk(problem, problem.identity());
  for (int i = 0; i < 200; ++i) {
    const int a = random.below(16), b = random.below(16);
    if (a == b) continue;
    const double sum = walk.cost().sum, change = walk.sum_change(a, b);
    if (random.below(2) == 0) {
      walk.swap(a, b);
      EXPECT_NEAR(walk.cost().sum, sum + change, 1e-9 * sum);
    } else {
      const Cost before = walk.cost();
      if (walk.improve(a, b, Goal::cost)) {
        EXPECT_TRUE(less(walk.cost(), before));
      } else {
        EXPECT_EQ(walk.cost(), before);
      }
    }
    EXPECT_EQ(walk.cost(), problem.cost_of(walk.map()));
  }
}

TEST(Problem, RefusesWhatCannotBe) {
  const machine::Machine machine = shipped("dgx-1v");
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network).value();
  const Traffic traffic = pattern("ring:8");
  const auto refused = [&](const Slots& slots, std::vector<Pin> pins) {
    return Problem::create(traffic, graph, slots, Metric::distance, pins).status().what();
  };
  EXPECT_THAT(refused({1, 4, 1}, {}), testing::HasSubstr("8 ranks, and room for 4"));
  EXPECT_THAT(refused({1, 8, 1}, {{8, {0}}}), testing::HasSubstr("rank 8"));
  EXPECT_THAT(refused({1, 8, 1}, {{0, {1}}, {1, {1}}}), testing::HasSubstr("rank 0 has no room"));
  EXPECT_THAT(refused({1, 8, 1}, {{0, {1}}, {0, {2}}}), testing::HasSubstr("pinned twice"));
  EXPECT_EQ(refused({1, 4, 2}, {}), "");
  const auto problem =
      Problem::create(traffic, graph, {1, 8, 1}, Metric::distance, std::vector<Pin>{{0, {3}}, {3, {1}}});
  EXPECT_THAT(problem->identity(), testing::ElementsAre(3, 0, 2, 1, 4, 5, 6, 7));
}

/// Two ranks of a GPU send each other nothing over links; with room for two each, pairs that talk share a GPU.
TEST(Problem, SeveralRanksShareAGpu) {
  const machine::Machine machine = shipped("dgx-1v");
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network).value();
  Traffic traffic(8);
  for (int rank = 0; rank < 4; ++rank) traffic.add(rank, rank + 4, 5), traffic.add(rank + 4, rank, 5);
  const Slots slots{1, 8, 2};
  const auto problem = Problem::create(traffic, graph, slots, Metric::contention).value();
  Best best;
  search(problem, {}, best);
  EXPECT_EQ(best.first().cost, (Cost{0, 0}));
  EXPECT_EQ(cost_of(traffic, graph, slots, Metric::contention, best.first().map), (Cost{0, 0}));
}

TEST(Best, KeepsTheCheapestOnceAndTheFirstOfThoseAlike) {
  Best best(2);
  best.offer({0, 1}, {0, 5});
  best.offer({1, 0}, {0, 5});
  best.offer({0, 1}, {0, 5});
  best.offer({1, 0}, {0, 4});
  ASSERT_EQ(best.all().size(), 2u);
  EXPECT_EQ(best.first().map, (Map{0, 1}));
  best.offer({2, 0}, {0, 4});
  EXPECT_EQ(best.first().map, (Map{2, 0}));
  EXPECT_EQ(best.all()[1].map, (Map{0, 1}));
}

}  // namespace
}  // namespace sennit::place
