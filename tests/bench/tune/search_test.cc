#include "bench/tune/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sennit::bench::tune {
namespace {

/// A direct path of rate 1 and another of `rate` that starts `late`, for a message of length 1 that takes 1 alone.
Measure model(double rate, double late, double noise = 0) {
  return [=, n = 0](double share) mutable -> Result<double> {
    const double time = std::max(1 - share, late + share / rate);
    return 1 / time * (1 + noise * std::sin(++n * 12.9898));
  };
}

TEST(Search, FindsWherePathsFinishTogether) {
  for (const double rate : {0.05, 0.13, 0.5, 2.0}) {
    const double ideal = rate / (1 + rate);
    for (const double seed : {ideal / 2, ideal, std::min(0.85, ideal * 1.8)}) {
      const auto found = search(seed, model(rate, 0));
      ASSERT_TRUE(found.ok());
      EXPECT_GT(found->ratio, 1 + 0.8 * (1 / (1 - ideal) - 1)) << "rate " << rate << " from " << seed;
      EXPECT_LE(found->share, ideal * 1.03) << "more than one step of the search too large";
    }
  }
}

TEST(Search, LeavesOutWhatDoesNotPay) {
  const auto late = search(0.1, model(0.13, 0.99));
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(late->share, 0);
  EXPECT_EQ(late->ratio, 1);
}

TEST(Search, ToleratesNoiseAndLeansToTheSmallerShare) {
  const auto found = search(0.2, model(0.13, 0, 0.002));
  ASSERT_TRUE(found.ok());
  EXPECT_GT(found->ratio, 1.09);
  EXPECT_LT(found->share, 0.1185);
}

TEST(Search, SpendsNoMoreThanAllowed) {
  int calls = 0;
  SearchOptions options;
  options.evaluations = 6;
  const auto found = search(
      0.3,
      [&](double share) -> Result<double> {
        ++calls;
        return 1 + share;
      },
      options);
  ASSERT_TRUE(found.ok());
  EXPECT_LE(calls, 6);
}

TEST(Pays, OnlyBeyondTheMarginAndTheNoiseOfBoth) {
  const auto time = [](double median, double spread) { return measure::Summary{median, spread, median, median, 9}; };
  EXPECT_TRUE(pays(time(103, 1), time(100, 1)));
  EXPECT_FALSE(pays(time(100.9, 0), time(100, 0))) << "below a hundredth";
  EXPECT_FALSE(pays(time(103, 1), time(100, 4))) << "the split varies by more than it gains";
  EXPECT_FALSE(pays(time(103, 4), time(100, 1))) << "the single path does";
  EXPECT_FALSE(pays(time(100, 0), time(103, 0)));
  EXPECT_FALSE(pays(time(103, 0), measure::Summary{})) << "nothing was measured";
}

TEST(Search, PassesErrorsOn) {
  const auto found = search(0.1, [](double) -> Result<double> { return Status(Code::peer_lost, "gone"); });
  EXPECT_EQ(found.status().code(), Code::peer_lost);
}

}  // namespace
}  // namespace sennit::bench::tune
