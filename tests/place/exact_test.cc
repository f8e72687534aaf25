#include "place/exact.h"
#include "place/cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/made_up.h"

namespace sennit::place {
namespace {

TEST(AssignLeast, IsTheLeastOfAllAssignments) {
  Random random(11);
  for (int round = 0; round < 50; ++round) {
    const int rows = 1 + random.below(5), columns = rows + random.below(3);
    std::vector<double> matrix;
    for (int i = 0; i < rows * columns; ++i) matrix.push_back(random.below(30));
    std::vector<int> order(static_cast<std::size_t>(columns));
    std::iota(order.begin(), order.end(), 0);
    double least = 1e9;
    do {
      double sum = 0;
      for (int i = 0; i < rows; ++i) sum += matrix[std::size_t(i * columns + order[std::size_t(i)])];
      least = std::min(least, sum);
    } while (std::ranges::next_permutation(order).found);
    EXPECT_EQ(assign_least(matrix, rows, columns), least);
  }
}

/// Two sockets of eight, a ring of sixteen: it crosses twice, a message each way over each link.
TEST(LeastHeaviest, IsWhatCutsSay) {
  const machine::Machine machine = shipped("helios");
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network).value();
  const double bytes = 1 << 20, us = bytes / 12.5e3;
  const auto least = [&](const std::string& text) {
    return least_heaviest_us(Problem::create(pattern(text, bytes), graph, {1, 16, 1}, Metric::contention).value());
  };
  EXPECT_NEAR(least("ring:16"), 2 * us, 1e-6) << "each GPU sends two messages over its own link";
  EXPECT_NEAR(least("all-pairs:16"), 48 * us, 1e-6) << "a switch of four GPUs: each to the twelve others";
  EXPECT_EQ(least_heaviest_us(Problem(pattern("ring:16"), 16, tree_costs(16))), 0) << "without resources";
}

/// Where time does not suffice the bound still is one.
TEST(Prove, GivesTheGapWhenWorkIsOver) {
  Random random(5);
  const Problem problem(random_traffic(12, 100, random), 12, random_costs(12, random));
  Best best;
  search(problem, {}, best);
  const Cost found = best.first().cost;
  const Proof cut = prove(problem, 100000, best);
  EXPECT_FALSE(cut.proved);
  EXPECT_GT(cut.bound.sum, 0);
  EXPECT_LT(cut.bound.sum, best.first().cost.sum);
  EXPECT_FALSE(less(found, best.first().cost));
}

TEST(Prove, PlacesThePinnedWhereTheyStay) {
  Traffic traffic(3);
  traffic.add(0, 1, 10);
  const machine::Machine machine = shipped("dgx-1v");
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network).value();
  const auto problem =
      Problem::create(traffic, graph, {1, 8, 1}, Metric::contention, std::vector<Pin>{{0, {5}}, {2, {7}}}).value();
  Best best;
  search(problem, {}, best);
  EXPECT_TRUE(prove(problem, kProofWork, best).proved);
  EXPECT_EQ(best.first().map[0], 5);
  EXPECT_EQ(best.first().map[2], 7);
  EXPECT_EQ(best.first().cost.sum, 10) << "one link away";
}

}  // namespace
}  // namespace sennit::place
