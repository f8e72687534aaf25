#include "place/device_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/made_up.h"

namespace sennit::place {
namespace {

/// GPUs 0 and 1 on a board, 2 on the next board of a switch, 4 on the socket's other switch, 8 on the other socket.
TEST(DeviceGraph, HeliosHasTheFourLevelsOfThePaper) {
  const machine::Machine machine = shipped("helios");
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  ASSERT_EQ(graph->gpus(), 16);
  ASSERT_EQ(graph->levels(), 4);
  const int others[] = {1, 2, 4, 8};
  const Joined joined[] = {Joined::board, Joined::switches, Joined::host_bridge, Joined::socket};
  const int hops[] = {2, 4, 6, 7};
  for (int level = 0; level < 4; ++level) {
    EXPECT_EQ(graph->joined(0, others[level]), joined[level]) << level;
    EXPECT_EQ(graph->level(0, others[level]), level);
    EXPECT_EQ(graph->hops(0, others[level]), hops[level]) << "both copies, where host memory is between";
    EXPECT_EQ(graph->closeness(Metric::distance, 0, others[level]), 4 - level);
    EXPECT_EQ(graph->cost(Metric::distance, 0, others[level]), level + 1);
    EXPECT_EQ(graph->staged_by(0, others[level]) >= 0, level == 3);
  }
  EXPECT_EQ(graph->cost(Metric::latency, 3, 3), 0);
}

/// By the paper's formulas, over the sizes 4 KiB to 16 MiB: time of level 3 over time of the level, and rates
/// likewise.
TEST(DeviceGraph, MetricsAreTheMeansOfRatiosToTheLastLevel) {
  const machine::Machine machine = shipped("helios");
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network).value();
  double latency = 0, bandwidth = 0;
  int sizes = 0;
  for (double bytes = 4 << 10; bytes <= 16 << 20; bytes *= 2, ++sizes) {
    latency += graph.copy_us(0, 8, bytes, false) / graph.copy_us(0, 1, bytes, false);
    bandwidth += (bytes / graph.copy_us(0, 1, bytes, true)) / (bytes / graph.copy_us(0, 8, bytes, true));
  }
  EXPECT_EQ(sizes, 13);
  EXPECT_NEAR(graph.closeness(Metric::latency, 0, 1), latency / 13, 1e-9);
  EXPECT_NEAR(graph.closeness(Metric::bandwidth, 0, 1), bandwidth / 13, 1e-9);
  EXPECT_DOUBLE_EQ(graph.closeness(Metric::latency, 0, 8), 1);
  EXPECT_DOUBLE_EQ(graph.cost(Metric::latency, 0, 8), 1);
  EXPECT_GT(graph.closeness(Metric::bandwidth, 0, 1), 1);
  EXPECT_LT(graph.cost(Metric::bandwidth, 0, 1), graph.cost(Metric::bandwidth, 0, 8));
}

TEST(DeviceGraph, MeasuredCurvesComeBeforeLinks) {
  const machine::Machine machine = shipped("hgx-h200-4");
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network).value();
  const machine::Curve* const curve =
      machine.curve("gpu0", "gpu1", machine::Method::engine, machine::Traffic::one_way);
  ASSERT_NE(curve, nullptr);
  EXPECT_NEAR(graph.copy_us(0, 1, double(curve->points.back().bytes), false), curve->points.back().us,
              0.01 * curve->points.back().us);
  const auto difference = graph.difference(1 << 20);
  EXPECT_FALSE(difference.measured) << "one pair was, and stands for all: behind an NVSwitch they are alike";
  EXPECT_EQ(difference.part, 0);
  EXPECT_EQ(graph.copy_us(2, 3, 1 << 20, false), graph.copy_us(0, 1, 1 << 20, false));
}

TEST(DeviceGraph, OfSomeGpusInAnotherOrder) {
  const machine::Machine machine = shipped("helios");
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network, {network.index("gpu8"), network.index("gpu0")}).value();
  EXPECT_EQ(graph.gpus(), 2);
  EXPECT_EQ(graph.levels(), 1) << "of the levels that are there";
  EXPECT_EQ(network.device(graph.device(0)).id, "gpu8");
}

TEST(DeviceGraph, EveryShippedMachineHasOne) {
  for (const char* name : {"beluga", "cedar", "cscs", "dgx-1v", "dgx-a100", "dgx-b200", "dgx-h100", "mist", "ri2"}) {
    const machine::Machine machine = shipped(name);
    const path::Network network(machine);
    const auto graph = DeviceGraph::create(network);
    ASSERT_TRUE(graph.ok()) << name << graph.status().text();
    for (int a = 0; a < graph->gpus(); ++a)
      for (int b = 0; b < graph->gpus(); ++b)
        if (a != b) {
          EXPECT_GT(graph->cost(Metric::contention, a, b), 0) << name;
          EXPECT_GE(graph->closeness(Metric::latency, a, b), 1e-3) << name;
          EXPECT_FALSE(graph->uses(a, b).empty()) << name;
        }
  }
}

TEST(DeviceGraph, AMachineThatHasNoneSaysWhatIsMissing) {
  machine::Machine machine = shipped("helios");
  std::erase_if(machine.devices, [](const machine::Device& each) { return each.kind == machine::DeviceKind::gpu; });
  const path::Network without(machine);
  EXPECT_THAT(DeviceGraph::create(without).status().what(), testing::HasSubstr("no GPU"));
  machine = shipped("helios");
  std::erase_if(machine.links, [](const machine::Link& each) { return each.from == "gpu0"; });
  const path::Network apart(machine);
  EXPECT_THAT(DeviceGraph::create(apart).status().what(), testing::HasSubstr("no links lead from gpu0 to gpu1"));
  EXPECT_EQ(parse_metric("contention").value(), Metric::contention);
  EXPECT_THAT(parse_metric("x").status().remedy(), testing::HasSubstr("latency, bandwidth, distance or contention"));
}

}  // namespace
}  // namespace sennit::place
