#include "bench/partitioned/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace sennit::bench::partitioned {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<Interval> some_intervals(std::mt19937& random) {
  std::uniform_real_distribution<double> place(0, 100), length(0, 30);
  std::vector<Interval> made(std::uniform_int_distribution<std::size_t>(1, 20)(random));
  for (Interval& each : made) {
    each.begin = place(random);
    each.end = each.begin + length(random);
  }
  return made;
}

Iteration some_iteration(std::mt19937& random) {
  std::uniform_real_distribution<double> call(0, 3);
  Iteration made;
  made.joined_us = std::uniform_real_distribution<double>(0, 130)(random);
  for (const Interval& each : some_intervals(random))
    made.partitions.push_back({each.begin, each.begin + call(random), each.end});
  return made;
}

TEST(Union, OfKnownIntervals) {
  EXPECT_EQ(union_of({}), 0);
  EXPECT_EQ(union_of({{2, 5}}), 3);
  EXPECT_EQ(union_of({{0, 10}, {1, 2}}), 10);
  EXPECT_EQ(union_of({{0, 1}, {1, 2}}), 2);
  EXPECT_EQ(union_of({{0, 1}, {5, 7}, {6, 8}}), 4);
  EXPECT_EQ(union_of({{3, 3}, {3, 3}}), 0);
}

TEST(Union, LiesBetweenTheLongestAndTheSumInAnyOrderAndMovesAndGrowsWithThem) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 300; ++trial) {
    auto intervals = some_intervals(random);
    double longest = 0, sum = 0;
    for (const Interval& each : intervals) {
      longest = std::max(longest, each.end - each.begin);
      sum += each.end - each.begin;
    }
    const double whole = union_of(intervals);
    EXPECT_GE(whole, longest - 1e-9);
    EXPECT_LE(whole, sum + 1e-9);
    std::ranges::shuffle(intervals, random);
    EXPECT_DOUBLE_EQ(union_of(intervals), whole);
    auto moved = intervals;
    for (Interval& each : moved) each = {2 * (each.begin + 50), 2 * (each.end + 50)};
    EXPECT_NEAR(union_of(moved), 2 * whole, 1e-9);
  }
}

TEST(Metrics, OfATimelineByHand) {
  // Two partitions leave early and one after the others' join; between 5 and 8 nothing travels.
  const Iteration one{0, 10, 15, {{1, 2, 5}, {2, 3, 4}, {8, 9, 14}}};
  const auto found = metrics_of(one);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->transfer_us, 10);
  EXPECT_DOUBLE_EQ(found->before_us, 6);
  EXPECT_DOUBLE_EQ(found->after_us, 4);
  EXPECT_DOUBLE_EQ(found->exposed_us, 4);
  EXPECT_DOUBLE_EQ(found->last_us, 6);
  EXPECT_DOUBLE_EQ(found->early_bird_percent, 60);
  EXPECT_DOUBLE_EQ(*overhead(*found, 5), 2);
  EXPECT_DOUBLE_EQ(*availability_percent(*found, 5), 20);
  EXPECT_DOUBLE_EQ(*availability_percent(*found, 2), -100);
  EXPECT_DOUBLE_EQ(*perceived_gbps(*found, 12000), 2);
}

TEST(Metrics, WhatIsBeforeAndAfterTheJoinIsTheWhole) {
  std::mt19937 random(12);
  for (int trial = 0; trial < 300; ++trial) {
    Iteration one = some_iteration(random);
    const auto found = metrics_of(one);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->before_us + found->after_us, found->transfer_us, 1e-9);
    EXPECT_GE(found->early_bird_percent, 0);
    EXPECT_LE(found->early_bird_percent, 100 + 1e-9);
    std::ranges::shuffle(one.partitions, random);
    EXPECT_DOUBLE_EQ(metrics_of(one)->transfer_us, found->transfer_us);
    Iteration later = one;
    later.start_us += 1e3;
    later.joined_us += 1e3;
    for (Partition& each : later.partitions)
      each = {each.ready_us + 1e3, each.returned_us + 1e3, each.arrived_us + 1e3};
    EXPECT_NEAR(metrics_of(later)->after_us, found->after_us, 1e-9);
    EXPECT_NEAR(metrics_of(later)->exposed_us, found->exposed_us, 1e-9);
  }
}

TEST(Metrics, AMessageThatIsSentWholeAfterTheJoinIsTheReferenceItself) {
  const auto found = metrics_of({0, 10, 30, {{10, 12, 30}}});
  ASSERT_TRUE(found);
  EXPECT_EQ(*overhead(*found, 20), 1);
  EXPECT_EQ(*availability_percent(*found, 20), 0);
  EXPECT_EQ(found->early_bird_percent, 0);
}

TEST(Metrics, WhatIsNoTimeSaysNothing) {
  EXPECT_FALSE(metrics_of({}));
  EXPECT_FALSE(metrics_of({0, 1, 2, {{kNan, 1, 2}}}));
  EXPECT_FALSE(metrics_of({0, kNan, 2, {{0, 1, 2}}}));
  EXPECT_FALSE(metrics_of({0, 1, 2, {{0, 1, std::numeric_limits<double>::infinity()}}}));
  EXPECT_FALSE(metrics_of({0, 1, 2, {{3, 4, 2}}})) << "it arrives before it is ready";
  EXPECT_FALSE(metrics_of({0, 1, 2, {{3, 2, 4}}})) << "its call returns before it begins";
  const auto at_once = metrics_of({0, 0, 0, {{0, 0, 0}}});
  ASSERT_TRUE(at_once);
  EXPECT_EQ(at_once->early_bird_percent, 0);
  EXPECT_FALSE(overhead(*at_once, 1));
  EXPECT_FALSE(perceived_gbps(*at_once, 8));
  const auto found = metrics_of({0, 1, 2, {{0, 1, 2}}});
  for (const double none : {0.0, -1.0, kNan}) {
    EXPECT_FALSE(overhead(*found, none));
    EXPECT_FALSE(availability_percent(*found, none));
  }
}

/// Returns by how much the published merge falls short of the union on average, and how often it does.
template <class Make>
std::pair<double, double> shortfall(const Make& make) {
  std::mt19937 random(1);
  const int trials = 20000;
  double lost = 0;
  int wrong = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<Interval> intervals;
    for (int partition = 0; partition < 16; ++partition) intervals.push_back(make(random, partition));
    const double right = union_of(intervals), theirs = published_union_of(intervals);
    EXPECT_LE(theirs, right + 1e-9);
    lost += 1 - theirs / right;
    if (theirs < right - 1e-9) ++wrong;
  }
  return {lost / trials, double(wrong) / trials};
}

TEST(Published, TheMergeLosesWhatOutlastsItsSuccessor) {
  EXPECT_EQ(published_union_of({{0, 10}, {1, 2}}), 2);
  EXPECT_EQ(published_union_of({{0, 1}, {5, 7}, {6, 8}}), 4) << "in order it is right";
  // Partitions become ready at random within 20 of their travel times, which vary by 30 %.
  const auto [jitter, jittered] = shortfall([](std::mt19937& random, int) {
    const double begin = std::uniform_real_distribution<double>(0, 20)(random);
    return Interval{begin, begin + std::max(0.0, std::normal_distribution<double>(1, 0.3)(random))};
  });
  EXPECT_NEAR(jitter, 0.024, 0.003);
  EXPECT_NEAR(jittered, 0.70, 0.05);
  // Partitions become ready at steps of half a mean travel time, which is exponential.
  const auto [exponential, mostly] = shortfall([](std::mt19937& random, int partition) {
    return Interval{partition / 2.0, partition / 2.0 + std::exponential_distribution<double>(1)(random)};
  });
  EXPECT_NEAR(exponential, 0.19, 0.01);
  EXPECT_GT(mostly, 0.98);
}

TEST(Published, TheCallsOwnTimeIsLeftOutOfPartitionsAndInOfTheWhole) {
  // A call of 4 µs that does the transfer itself: of 6 µs the suite counts 2, and its bandwidth is three times as
  // high.
  const Iteration one{0, 10, 12, {{6, 10, 12}}};
  EXPECT_DOUBLE_EQ(metrics_of(one)->transfer_us, 6);
  EXPECT_DOUBLE_EQ(published(one, 10)->transfer_us, 2);
  EXPECT_DOUBLE_EQ(metrics_of(one)->last_us, 3 * published(one, 10)->last_us);
  EXPECT_DOUBLE_EQ(published({0, 10, 12, {{6, 10, 8}}}, 10)->transfer_us, 0) << "it arrives while the call runs";
}

TEST(Published, AJoinOfAnotherPhaseMovesTimeAcrossIt) {
  // Nothing is left after this iteration's join at 12; by a mean join of 8 the suite finds 3 µs there.
  const Iteration one{0, 12, 12, {{5, 5, 11}}};
  EXPECT_DOUBLE_EQ(metrics_of(one)->after_us, 0);
  EXPECT_DOUBLE_EQ(published(one, 8)->after_us, 3);
  EXPECT_DOUBLE_EQ(*availability_percent(*metrics_of(one), 6), 100);
  EXPECT_FALSE(published({}, 8));
}

}  // namespace
}  // namespace sennit::bench::partitioned
