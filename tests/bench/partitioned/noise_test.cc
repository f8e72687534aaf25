#include "bench/partitioned/noise.h"

#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::bench::partitioned {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kMegabytes = 1000000;

Noise noise(std::string_view text) {
  auto parsed = parse_noise(text);
  EXPECT_TRUE(parsed) << parsed.status().text();
  return parsed ? *parsed : Noise{};
}

/// Mean and deviation of many threads' compute of 100 µs.
std::pair<double, double> mean_and_deviation(const Noise& one) {
  double sum = 0, squares = 0;
  const int many = 20000;
  for (int iteration = 0; iteration < many; ++iteration) {
    const double us = work(one, {7, iteration, 3, 4}, 100, 0).even_us;
    sum += us;
    squares += us * us;
  }
  const double mean = sum / many;
  return {mean, std::sqrt(squares / many - mean * mean)};
}

TEST(Noise, TextsAreReadAndWritten) {
  for (const char* text :
       {"none", "single:4", "uniform:0.5", "gaussian:10", "exponential:4", "laggard:100us/MB", "laggard:0us/MB"})
    EXPECT_EQ(noise(text).text(), text);
  for (const char* text : {"", "loud", "none:1", "uniform", "uniform:", "uniform:x", "uniform:-1", "uniform:4%",
                           "uniform:nan", "uniform:1e300", "laggard:100", "laggard:us/MB"}) {
    const auto parsed = parse_noise(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.status().text(), HasSubstr("is no noise"));
  }
  EXPECT_THAT(parse_noise("replay:/nonexistent/times").status().text(), HasSubstr("/nonexistent/times"));
}

TEST(Noise, IsAFunctionOfSeedIterationAndThread) {
  const Noise one = noise("uniform:50");
  std::set<double> seen;
  for (std::uint64_t seed : {1, 2})
    for (int iteration : {0, 1})
      for (int thread : {0, 1, 2}) {
        const double us = work(one, {seed, iteration, thread, 3}, 100, 0).even_us;
        EXPECT_EQ(us, work(one, {seed, iteration, thread, 8}, 100, 8).even_us) << "nothing else decides";
        EXPECT_GE(us, 100);
        EXPECT_LT(us, 150);
        seen.insert(us);
      }
  EXPECT_EQ(seen.size(), 12U);
  // The same on every machine: results of different MPIs are compared.
  EXPECT_DOUBLE_EQ(uniform(1, 2, 3, 4), 0.83344729498934378);
}

TEST(Noise, HasTheMomentsOfItsName) {
  EXPECT_EQ(mean_and_deviation(noise("none")), std::pair(100.0, 0.0));
  const auto [even, even_deviation] = mean_and_deviation(noise("uniform:12"));
  EXPECT_NEAR(even, 106, 0.1);
  EXPECT_NEAR(even_deviation, 12 / std::sqrt(12), 0.1);
  const auto [normal, normal_deviation] = mean_and_deviation(noise("gaussian:10"));
  EXPECT_NEAR(normal, 100, 0.3);
  EXPECT_NEAR(normal_deviation, 10, 0.2);
  const auto [long_tailed, exponential_deviation] = mean_and_deviation(noise("exponential:20"));
  EXPECT_NEAR(long_tailed, 120, 0.6);
  EXPECT_NEAR(exponential_deviation, 20, 0.6);
}

TEST(Noise, OneThreadIsLate) {
  const Noise single = noise("single:10"), laggard = noise("laggard:100us/MB");
  EXPECT_DOUBLE_EQ(work(single, {1, 5, 0, 4}, 100, 0).even_us, 110);
  EXPECT_DOUBLE_EQ(work(single, {1, 5, 1, 4}, 100, 0).even_us, 100);
  EXPECT_DOUBLE_EQ(work(laggard, {1, 5, 3, 4}, 100, 8 * kMegabytes).last_us, 800);
  EXPECT_DOUBLE_EQ(work(laggard, {1, 5, 2, 4}, 100, 8 * kMegabytes).last_us, 0);
  EXPECT_DOUBLE_EQ(work(laggard, {1, 5, 3, 4}, 100, 8 * kMegabytes).even_us, 100);
}

TEST(Noise, WhatWasRecordedIsReplayedFromItsStartAgain) {
  auto recorded = parse_recorded("# µs\n10 20\n\n30,40, 50\r\n");
  ASSERT_TRUE(recorded);
  EXPECT_THAT(*recorded, ElementsAre(ElementsAre(10, 20), ElementsAre(30, 40, 50)));
  const Noise replay{Noise::Kind::replayed, 0, "/home/user/f", std::make_shared<const Recorded>(*recorded)};
  EXPECT_EQ(replay.text(), "replay:f");
  EXPECT_EQ(work(replay, {1, 0, 1, 4}, 7, 0).even_us, 20);
  EXPECT_EQ(work(replay, {1, 3, 2, 4}, 7, 0).even_us, 50);
  EXPECT_EQ(work(replay, {1, 2, 3, 4}, 7, 0).even_us, 20) << "more threads than were recorded";
  EXPECT_THAT(parse_recorded("1 2\n3 x\n").status().text(), HasSubstr("line 2"));
  EXPECT_FALSE(parse_recorded("1 -2"));
  EXPECT_FALSE(parse_recorded("1e12"));
  EXPECT_FALSE(parse_recorded("# nothing\n\n"));
}

}  // namespace
}  // namespace sennit::bench::partitioned
