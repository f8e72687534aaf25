#include "place/nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/made_up.h"
#include "place/solve.h"

namespace sennit::place {
namespace {

const machine::Machine& h100() {
  static const machine::Machine machine = shipped("dgx-h100");
  return machine;
}

/// 128 nodes of 8, a grid of 32 × 32 whose ranks were numbered along rows: a node has a row's part, 18 edges out; the
/// best has a block of 2 × 4, 12 edges.
TEST(Nodes, AGridIsCutIntoBlocks) {
  const path::Network network(h100());
  const auto graph = DeviceGraph::create(network).value();
  const Traffic traffic = pattern("2d-torus:32x32");
  const Slots slots{128, 8, 1};
  const auto map = map_by_nodes(traffic, graph, slots, Metric::contention);
  ASSERT_TRUE(map.ok()) << map.status().text();
  Map sorted = *map;
  std::ranges::sort(sorted);
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(sorted[std::size_t(i)], i);
  Map identity(1024);
  std::iota(identity.begin(), identity.end(), 0);
  EXPECT_EQ(bytes_between(traffic, slots, identity), 128 * 18);
  EXPECT_LE(bytes_between(traffic, slots, *map), 128 * 14);
}

/// Groups that were dealt out over nodes come together, and nobody else moves more than has to.
TEST(Nodes, GroupsComeTogether) {
  const path::Network network(h100());
  const auto graph = DeviceGraph::create(network).value();
  Traffic traffic(32);
  for (int group = 0; group < 4; ++group)
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) traffic.add(i * 4 + group, j * 4 + group, 1);
  const Slots slots{4, 8, 1};
  const auto map = map_by_nodes(traffic, graph, slots, Metric::contention);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(bytes_between(traffic, slots, *map), 0);
  Question question;
  question.traffic = &traffic;
  question.graph = &graph;
  question.slots = slots;
  const auto solution = solve(question);
  ASSERT_TRUE(solution.ok());
  EXPECT_EQ(bytes_between(traffic, slots, solution->best.front().map), 0);
  EXPECT_EQ(solution->left_out.size(), 1u) << "32 slots are not proved";
}

TEST(Nodes, ThePinnedStay) {
  const path::Network network(h100());
  const auto graph = DeviceGraph::create(network).value();
  const Slots slots{16, 8, 1};
  const Traffic traffic = pattern("ring:100");
  const std::vector<Pin> pins = {{0, {127}}, {1, {3}}, {99, {64}}};
  const auto map = map_by_nodes(traffic, graph, slots, Metric::distance, pins);
  ASSERT_TRUE(map.ok()) << map.status().text();
  for (const Pin& pin : pins) EXPECT_EQ((*map)[std::size_t(pin.rank)], pin.slots.front());
  Map sorted = *map;
  std::ranges::sort(sorted);
  EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
  EXPECT_FALSE(map_by_nodes(traffic, graph, slots, Metric::distance, std::vector<Pin>{{100, {0}}}).ok());
}

/// The flat problem and the sum over nodes reckon alike.
TEST(Nodes, CostsAreTheFlatProblems) {
  const path::Network network(h100());
  const auto graph = DeviceGraph::create(network).value();
  Random random(1);
  const Traffic traffic = random_traffic(20, 30, random);
  const Slots slots{3, 8, 1};
  const auto problem = Problem::create(traffic, graph, slots, Metric::contention).value();
  Map map = problem.identity();
  for (int i = 23; i > 0; --i) std::swap(map[std::size_t(i)], map[std::size_t(random.below(i + 1))]);
  const Cost flat = problem.cost_of(map), by_nodes = cost_of(traffic, graph, slots, Metric::contention, map);
  EXPECT_NEAR(flat.sum, by_nodes.sum, 1e-9 * flat.sum);
  EXPECT_NEAR(flat.heaviest_us, by_nodes.heaviest_us, 1e-9 * flat.heaviest_us);
}

}  // namespace
}  // namespace sennit::place
