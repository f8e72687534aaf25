#include "bench/partitioned/plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::bench::partitioned {
namespace {

using testing::ElementsAre;

Order order(std::string_view text) {
  auto parsed = parse_order(text);
  EXPECT_TRUE(parsed) << parsed.status().text();
  return parsed ? *parsed : Order{};
}

TEST(Order, TextsAreReadAndWritten) {
  for (const char* text : {"linear", "inverse", "random", "stride:4", "burst:8"}) EXPECT_EQ(order(text).text(), text);
  for (const char* text : {"", "upwards", "linear:2", "stride", "stride:", "stride:0", "burst:-1", "burst:2x"})
    EXPECT_FALSE(parse_order(text)) << text;
}

TEST(Order, OfEachKind) {
  EXPECT_THAT(ordered(order("linear"), 4, 1, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ordered(order("inverse"), 4, 1, 0), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(ordered(order("stride:3"), 8, 1, 0), ElementsAre(0, 3, 6, 1, 4, 7, 2, 5));
  EXPECT_THAT(ordered(order("stride:9"), 3, 1, 0), ElementsAre(0, 1, 2));
  EXPECT_THAT(ordered(order("burst:2"), 3, 1, 0), ElementsAre(0, 1, 2));
  EXPECT_TRUE(ordered(order("random"), 0, 1, 0).empty());
}

TEST(Order, AtRandomHasEveryPartitionOnceAndIsAnotherOneEachTime) {
  std::set<std::vector<int>> seen;
  for (int iteration = 0; iteration < 200; ++iteration) {
    auto found = ordered(order("random"), 5, 1, iteration);
    EXPECT_EQ(found, ordered(order("random"), 5, 1, iteration));
    seen.insert(found);
    std::ranges::sort(found);
    EXPECT_THAT(found, ElementsAre(0, 1, 2, 3, 4));
  }
  EXPECT_GT(seen.size(), 80U);  // of 120
}

std::vector<int> partitions_of(const std::vector<Step>& steps) {
  std::vector<int> partitions;
  for (const Step& each : steps) partitions.push_back(each.partition);
  return partitions;
}

double compute_of(const std::vector<Step>& steps) {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double sum, const Step& each) { return sum + each.compute_us; });
}

TEST(Steps, EveryPartitionIsMadeReadyOnceAndComputeIsTheSameInEveryOrder) {
  for (const char* text : {"linear", "inverse", "random", "stride:3", "burst:4"})
    for (const int threads : {1, 2, 3, 7, 16})
      for (const int partitions : {1, 2, 5, 16}) {
        Plan plan{{threads, partitions}, 1 << 20, 100, {Noise::Kind::uniform, 50}, order(text)};
        std::vector<int> seen(std::size_t(partitions), 0);
        for (int thread = 0; thread < threads; ++thread) {
          const auto found = steps(plan, 3, thread);
          ASSERT_FALSE(found.empty());
          EXPECT_NEAR(compute_of(found), work(plan.noise, {plan.seed, 3, thread, threads}, 100, plan.bytes).even_us,
                      1e-9);
          for (const Step& each : found) ++seen[std::size_t(each.partition)];
        }
        EXPECT_EQ(seen, workers(plan, 3));
        EXPECT_THAT(seen, testing::Each(testing::Ge(1)));
      }
}

TEST(Steps, AreRunsOfTheOrder) {
  const Plan plan{{2, 5}, 0, 60, {}, order("inverse")};
  EXPECT_THAT(partitions_of(steps(plan, 0, 0)), ElementsAre(4, 3));
  EXPECT_THAT(partitions_of(steps(plan, 0, 1)), ElementsAre(2, 1, 0));
  EXPECT_DOUBLE_EQ(steps(plan, 0, 1)[0].compute_us, 20);
}

TEST(Steps, ABurstBecomesReadyAtOnce) {
  const Plan plan{{1, 5}, 0, 50, {}, order("burst:2")};
  std::vector<double> compute;
  for (const Step& each : steps(plan, 0, 0)) compute.push_back(each.compute_us);
  EXPECT_THAT(compute, ElementsAre(20, 0, 20, 0, 10));
}

TEST(Steps, ALaggardIsLateWithTheLastPartitionAlone) {
  const Plan plan{{2, 4}, 2000000, 60, {Noise::Kind::laggard, 100}, {}};
  EXPECT_DOUBLE_EQ(steps(plan, 0, 0)[1].compute_us, 30);
  EXPECT_DOUBLE_EQ(steps(plan, 0, 1)[0].compute_us, 30);
  EXPECT_DOUBLE_EQ(steps(plan, 0, 1)[1].compute_us, 230);
}

TEST(Steps, MoreThreadsThanPartitionsShareThem) {
  const Plan plan{{4, 2}, 0, 60, {}, order("inverse")};
  EXPECT_THAT(workers(plan, 0), ElementsAre(2, 2));
  EXPECT_THAT(partitions_of(steps(plan, 0, 0)), ElementsAre(1));
  EXPECT_THAT(partitions_of(steps(plan, 0, 3)), ElementsAre(0));
}

}  // namespace
}  // namespace sennit::bench::partitioned
