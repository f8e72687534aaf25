#include "bench/measure/timing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sennit::bench::measure {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(Summarise, TakesTheMedianAndHalfTheInterquartileRange) {
  const Summary summary = summarise({5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(summary.median_us, 3);
  EXPECT_DOUBLE_EQ(summary.spread_us, 1);  // quartiles 2 and 4
  EXPECT_DOUBLE_EQ(summary.min_us, 1);
  EXPECT_DOUBLE_EQ(summary.p95_us, 4.8);
  EXPECT_EQ(summary.repetitions, 5);
}

TEST(Summarise, TakesTheMiddleOfAnEvenNumber) {
  EXPECT_DOUBLE_EQ(summarise({10, 20, 30, 40}).median_us, 25);
}

TEST(Summarise, OneSampleHasNoSpread) {
  const Summary summary = summarise({7});
  EXPECT_DOUBLE_EQ(summary.median_us, 7);
  EXPECT_DOUBLE_EQ(summary.spread_us, 0);
  EXPECT_DOUBLE_EQ(summary.p95_us, 7);
  EXPECT_EQ(summary.repetitions, 1);
}

TEST(Summarise, NothingComesToNothing) {
  EXPECT_EQ(summarise({}).repetitions, 0);
  EXPECT_EQ(summarise({}).median_us, 0);
}

TEST(Summarise, DropsWhatIsNoDuration) {
  const Summary summary = summarise({kNaN, 2, kInfinite, -1, 0, 4, kNaN});
  EXPECT_EQ(summary.repetitions, 2);
  EXPECT_DOUBLE_EQ(summary.median_us, 3);
  EXPECT_EQ(summarise({kNaN, kNaN}).repetitions, 0);
}

TEST(Summarise, AnOutlierMovesNeitherMedianNorSpread) {
  const Summary summary = summarise({10, 10, 10, 10, 10, 10, 100000});
  EXPECT_DOUBLE_EQ(summary.median_us, 10);
  EXPECT_DOUBLE_EQ(summary.spread_us, 0);
}

TEST(Quantile, StaysWithinTheSamples) {
  const double samples[] = {1, 2, 3};
  EXPECT_DOUBLE_EQ(quantile(samples, -1), 1);
  EXPECT_DOUBLE_EQ(quantile(samples, 2), 3);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
}

TEST(Repeat, RunsWarmUpBeforeWhatCounts) {
  int runs = 0;
  const auto summary = repeat({3, 5}, [&]() -> Status {
    ++runs;
    return {};
  });
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(runs, 8);
  EXPECT_EQ(summary->repetitions, 5);
}

TEST(Repeat, EndsAtTheFirstError) {
  int runs = 0;
  const auto summary =
      repeat({1, 5}, [&]() -> Status { return ++runs == 3 ? Status(Code::device_error, "broke") : Status(); });
  EXPECT_EQ(summary.status().what(), "broke");
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace sennit::bench::measure
