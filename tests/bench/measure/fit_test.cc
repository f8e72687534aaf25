#include "bench/measure/fit.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/units.h"

namespace sennit::bench::measure {
namespace {

double exact(std::uint64_t bytes, double startup_us, double gbps) {
  return startup_us + double(bytes) / (gbps * 1e3);
}

TEST(FitLine, FindsTheLineThatTimesWereMadeFrom) {
  std::vector<Sample> samples;
  for (const std::uint64_t bytes : {4 * MiB, 16 * MiB, 64 * MiB}) samples.push_back({bytes, exact(bytes, 35, 50)});
  const auto line = fit_line(samples);
  ASSERT_TRUE(line.ok());
  EXPECT_NEAR(line->startup_us, 35, 1e-6);
  EXPECT_NEAR(line->rate_gbps, 50, 1e-6);
  EXPECT_NEAR(line->at(256 * MiB), exact(256 * MiB, 35, 50), 1e-3);
}

TEST(FitLine, CountsSmallAndLargeErrorsAlike) {
  // 2 % off at the largest size must not swamp the smallest, as it would with absolute errors.
  const std::vector<Sample> samples{
      {MiB, exact(MiB, 40, 50)}, {32 * MiB, exact(32 * MiB, 40, 50)}, {GiB, 1.02 * exact(GiB, 40, 50)}};
  const auto line = fit_line(samples);
  ASSERT_TRUE(line.ok());
  EXPECT_NEAR(line->at(MiB) / exact(MiB, 40, 50), 1, 0.01);
}

TEST(FitLine, NeverStartsBeforeTheBeginning) {
  const std::vector<Sample> samples{{MiB, 10}, {4 * MiB, 100}};
  const auto line = fit_line(samples);
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->startup_us, 0);
  EXPECT_GT(line->rate_gbps, 0);
}

TEST(FitLine, NeedsTwoSizes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(fit_line({}).status().code(), Code::invalid_argument);
  EXPECT_EQ(fit_line(std::vector<Sample>{{MiB, 10}}).status().code(), Code::invalid_argument);
  EXPECT_EQ(fit_line(std::vector<Sample>{{MiB, 10}, {MiB, 11}}).status().code(), Code::invalid_argument);
  EXPECT_EQ(fit_line(std::vector<Sample>{{MiB, 10}, {4 * MiB, nan}, {16 * MiB, 0}}).status().code(),
            Code::invalid_argument);
}

TEST(FitLine, RefusesLargerMessagesThatAreFaster) {
  const std::vector<Sample> samples{{MiB, 100}, {4 * MiB, 50}};
  EXPECT_EQ(fit_line(samples).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace sennit::bench::measure
