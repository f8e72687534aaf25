#include "path/flow.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace sennit::path {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> rates(const std::vector<double>& capacity, const std::vector<Flow>& flows) {
  std::vector<const Flow*> pointers;
  for (const Flow& flow : flows) pointers.push_back(&flow);
  return fair_rates(capacity, pointers);
}

TEST(FairRates, AloneAFlowGetsItsCapOrItsNarrowestResource) {
  EXPECT_DOUBLE_EQ(rates({10, 20}, {{{{0, 1}, {1, 1}}, 100, 1}})[0], 10);
  EXPECT_DOUBLE_EQ(rates({10, 20}, {{{{0, 1}, {1, 1}}, 7, 1}})[0], 7);
}

TEST(FairRates, WhatOneFlowCannotUseGoesToTheOthers) {
  // Three flows over one resource of 12, the first capped at 2: 2, 5, 5.
  const auto result = rates({12}, {{{{0, 1}}, 2, 1}, {{{0, 1}}, 100, 1}, {{{0, 1}}, 100, 1}});
  EXPECT_DOUBLE_EQ(result[0], 2);
  EXPECT_DOUBLE_EQ(result[1], 5);
  EXPECT_DOUBLE_EQ(result[2], 5);
}

TEST(FairRates, FollowsTheTextbookChain) {
  // A over r0 and r1, B over r0, C over r1; r0 = 10, r1 = 30: A = B = 5, C = 25.
  const auto result = rates({10, 30}, {{{{0, 1}, {1, 1}}, 99, 1}, {{{0, 1}}, 99, 1}, {{{1, 1}}, 99, 1}});
  EXPECT_DOUBLE_EQ(result[0], 5);
  EXPECT_DOUBLE_EQ(result[1], 5);
  EXPECT_DOUBLE_EQ(result[2], 25);
}

TEST(FairRates, CountsAResourceAsOftenAsItIsUsed) {
  // Staging writes and reads the same memory: 100 of it carry 50.
  EXPECT_DOUBLE_EQ(rates({100}, {{{{0, 2}}, 80, 1}})[0], 50);
}

TEST(FairRates, WeightsDivideWhatIsContended) {
  const auto result = rates({12}, {{{{0, 1}}, 99, 3}, {{{0, 1}}, 99, 1}});
  EXPECT_DOUBLE_EQ(result[0], 9);
  EXPECT_DOUBLE_EQ(result[1], 3);
}

TEST(FairRates, HandlesNothingAndDeadLinksAndNoLimit) {
  EXPECT_TRUE(rates({1, 2}, {}).empty());
  EXPECT_EQ(rates({0, 5}, {{{{0, 1}, {1, 1}}, 9, 1}})[0], 0);
  EXPECT_EQ(rates({kInfinity}, {{{{0, 1}}, kInfinity, 1}})[0], kInfinity);
}

TEST(FairRates, NeverOverfillsAndNeverIdles) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 500; ++trial) {
    std::uniform_real_distribution<double> figure(1, 400);
    std::vector<double> capacity(1 + random() % 8);
    for (double& each : capacity) each = figure(random);
    std::vector<Flow> flows(1 + random() % 6);
    for (Flow& flow : flows) {
      flow.cap = figure(random);
      flow.weight = 0.5 + double(random() % 4);
      for (std::size_t r = 0; r < capacity.size(); ++r)
        if (random() % 2 == 0) flow.uses.push_back({int(r), random() % 3 == 0 ? 2.0 : 1.0});
    }
    const auto result = rates(capacity, flows);
    std::vector<double> used(capacity.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f)
      for (const Usage& use : flows[f].uses) used[use.resource] += use.weight * result[f];
    for (std::size_t r = 0; r < capacity.size(); ++r) EXPECT_LE(used[r], capacity[r] * (1 + 1e-6)) << trial;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      bool stopped = result[f] >= flows[f].cap * (1 - 1e-6);
      for (const Usage& use : flows[f].uses) stopped |= used[use.resource] >= capacity[use.resource] * (1 - 1e-6);
      EXPECT_TRUE(stopped) << "flow " << f << " of trial " << trial << " could go faster";
      EXPECT_LE(result[f], flows[f].cap * (1 + 1e-9));
    }
  }
}

TEST(MaxFlow, SolvesTheTextbookNetwork) {
  // Cormen et al., figure 26.1: 23.
  const std::vector<Edge> edges = {{0, 1, 16}, {0, 2, 13}, {1, 3, 12}, {2, 1, 4}, {3, 2, 9},
                                   {2, 4, 14}, {4, 3, 7},  {3, 5, 20}, {4, 5, 4}};
  EXPECT_DOUBLE_EQ(max_flow(6, edges, 0, 5), 23);
}

TEST(MaxFlow, TakesBackWhatAnEarlierPathTook) {
  // The shortest path goes straight through the middle edge; the optimum does not use it.
  const std::vector<Edge> edges = {{0, 1, 1}, {1, 2, 1}, {2, 5, 1}, {0, 3, 1},
                                   {3, 4, 1}, {4, 2, 1}, {1, 6, 1}, {6, 5, 1}};
  EXPECT_DOUBLE_EQ(max_flow(7, edges, 0, 5), 2);
}

TEST(MaxFlow, KnowsNoWayAndNoLimit) {
  EXPECT_EQ(max_flow(3, std::vector<Edge>{{0, 1, 5}}, 0, 2), 0);
  EXPECT_EQ(max_flow(2, std::vector<Edge>{{0, 1, kInfinity}}, 0, 1), kInfinity);
}

TEST(MaxFlow, LiesBetweenAnyPathAndAnyCut) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const int nodes = 2 + int(random() % 7);
    std::vector<Edge> edges;
    for (int a = 0; a < nodes; ++a)
      for (int b = 0; b < nodes; ++b)
        if (a != b && random() % 2 == 0) edges.push_back({a, b, double(random() % 50)});
    const double flow = max_flow(nodes, edges, 0, nodes - 1);
    // Every subset with the source and without the sink is a cut; the smallest is the flow.
    double smallest = kInfinity;
    for (int set = 0; set < (1 << nodes); ++set) {
      if ((set & 1) == 0 || (set >> (nodes - 1) & 1) != 0) continue;
      double cut = 0;
      for (const Edge& edge : edges)
        if ((set >> edge.from & 1) != 0 && (set >> edge.to & 1) == 0) cut += edge.capacity;
      smallest = std::min(smallest, cut);
    }
    EXPECT_NEAR(flow, smallest, 1e-6) << trial;
  }
}

}  // namespace
}  // namespace sennit::path
