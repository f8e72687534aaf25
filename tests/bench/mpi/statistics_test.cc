#include "bench/mpi/statistics.h"

#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sennit::bench::mpi {
namespace {

TEST(Median, OfAnyNumbersBelowZeroToo) {
  const Median found = median_of({-3, std::numeric_limits<double>::infinity(), 0, 2});
  EXPECT_EQ(found.value, 0);
  EXPECT_EQ(found.low, -3);
  EXPECT_EQ(found.high, 2);
  EXPECT_EQ(found.count, 3);
  EXPECT_EQ(median_of({}).count, 0);
}

TEST(Paired, RoundsAreComparedEachWithItself) {
  // The machine becomes slower and slower; the ratio stays.
  std::vector<double> own, other;
  for (int i = 1; i <= 50; ++i) {
    own.push_back(i);
    other.push_back(1.01 * i);
  }
  const Paired found = compare(own, other);
  EXPECT_NEAR(found.ratio, 1.01, 1e-12);
  EXPECT_NEAR(found.low, 1.01, 1e-12);
  EXPECT_NEAR(found.high, 1.01, 1e-12);
}

TEST(Paired, FewRoundsSayTheirOwnExtremes) {
  const Paired found = compare(std::vector{1.0, 1.0, 1.0}, std::vector{1.0, 2.0, 3.0});
  EXPECT_EQ(found.ratio, 2);
  EXPECT_EQ(found.low, 1);
  EXPECT_EQ(found.high, 3);
}

TEST(Paired, TheIntervalHoldsTheMedianNineteenTimesInTwenty) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> noise(0, 0.05);
  int held = 0;
  const int runs = 2000;
  for (int run = 0; run < runs; ++run) {
    std::vector<double> own, other;
    for (int i = 0; i < 60; ++i) {
      own.push_back(noise(random));
      other.push_back(1.2 * noise(random));
    }
    const Paired found = compare(own, other);
    if (found.low <= 1.2 && 1.2 <= found.high) ++held;
  }
  EXPECT_GT(held, 0.94 * runs);
  EXPECT_LT(held, 0.985 * runs);
}

TEST(Paired, TimesThatAreNoneDoNotCount) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(compare(std::vector{1.0, 0.0, nan, 1.0}, std::vector{2.0, 2.0, 2.0, -1.0}).high, 2);
  EXPECT_EQ(compare({}, {}).ratio, 0);
  EXPECT_EQ(compare(std::vector{0.0}, std::vector{1.0}).ratio, 0);
}

}  // namespace
}  // namespace sennit::bench::mpi
