#include "bench/put/schedule.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace sennit::bench::put {
namespace {

TEST(PlanSamples, FillsTheTimeAsked) {
  // 1 s of 20 ms windows: 50 samples.
  EXPECT_EQ(plan_samples(GiB, 20'000, 1).samples(), 50);
}

TEST(PlanSamples, TakesNoMoreThanMediansNeed) {
  EXPECT_EQ(plan_samples(4 * KiB, 5, 10).samples(), 505);
  EXPECT_EQ(plan_samples(GiB, 5, 10).samples(), 105);
}

TEST(PlanSamples, TakesEnoughForQuartilesEvenWhenThatIsLonger) {
  EXPECT_GE(plan_samples(64 * MiB, 50'000, 0.2).samples(), 11);
  EXPECT_GE(plan_samples(MiB, 10'000, 0.2).samples(), 51);
}

TEST(PlanSamples, NeverTakesMuchLongerThanAsked) {
  // 11 windows of 10 s would take two minutes.
  EXPECT_EQ(plan_samples(GiB, 10e6, 1).samples(), 5);
}

TEST(PlanSamples, SurvivesATimeOfNothing) {
  EXPECT_EQ(plan_samples(1, 0, 1).samples(), 505);
}

}  // namespace
}  // namespace sennit::bench::put
