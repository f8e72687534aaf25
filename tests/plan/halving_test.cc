#include "plan/halving.h"

#include <gtest/gtest.h>

#include <map>

#include "made_up.h"

namespace sennit::plan {
namespace {

coll::Plan plan_of(unsigned blocks) {
  return {coll::Algorithm::two_shot, blocks, 256};
}

/// Plans of 1, 2, … blocks that are predicted in that order, and take what `times` says.
struct Field {
  std::vector<double> times;
  double spread = 0.01;
  std::vector<unsigned> wrong;
  std::map<unsigned, std::vector<int>> efforts;  // by blocks

  std::vector<Candidate> candidates() const {
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < times.size(); ++i)
      all.push_back({plan_of(static_cast<unsigned>(i + 1)), 10 + 0.1 * static_cast<double>(i)});
    return all;
  }
  Measure measure() {
    return [this](const coll::Plan& plan, int effort) -> Result<Timed> {
      efforts[plan.blocks].push_back(effort);
      if (std::ranges::count(wrong, plan.blocks) > 0) return Status(Code::corrupt, "wrong numbers");
      return Timed{plan, times[plan.blocks - 1], spread};
    };
  }
};

bool always() {
  return true;
}

TEST(Halving, FindsTheFastestAndTimesItLongest) {
  Field field{{12, 11, 13, 9, 14, 15, 16, 17}, 0.01, {}, {}};
  const auto found = halve(field.candidates(), field.measure(), always);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->plans.front().plan, plan_of(4));
  EXPECT_EQ(found->model_us, 12);
  EXPECT_EQ(found->timed, 8u);
  EXPECT_TRUE(found->finished);
  EXPECT_EQ(field.efforts[4], (std::vector{1, 2, 4, 8}));
  EXPECT_EQ(field.efforts[8], std::vector{1});
  EXPECT_EQ(found->plans.size(), 4u);
}

TEST(Halving, KeepsWhatWouldBeTakenAnywayUnlessAnotherIsFasterBeyondTheNoise) {
  Field field{{10.05, 10, 20, 20, 20, 20}, 0.2, {}, {}};
  EXPECT_EQ(halve(field.candidates(), field.measure(), always)->plans.front().plan, plan_of(1));
  field.spread = 0.001;
  EXPECT_EQ(halve(field.candidates(), field.measure(), always)->plans.front().plan, plan_of(1))
      << "under one percent";
  field.times[1] = 9.8;
  EXPECT_EQ(halve(field.candidates(), field.measure(), always)->plans.front().plan, plan_of(2));
}

TEST(Halving, ALuckyShortMeasurementDoesNotWin) {
  // The third is lucky in the first round, unlucky in the second, and left behind; the others turn out slower than
  // that.
  const Measure drifting = [](const coll::Plan& plan, int effort) -> Result<Timed> {
    if (plan.blocks == 3) return Timed{plan, effort == 1 ? 9.5 : 10.5, 0.01};
    return Timed{plan, (plan.blocks <= 2 ? 10.0 : 12.0) + (effort > 2 ? 1 : 0), 0.01};
  };
  Field field{std::vector<double>(6, 10.0), 0.01, {}, {}};
  const auto found = halve(field.candidates(), drifting, always);
  EXPECT_LE(found->plans.front().plan.blocks, 2u);
}

TEST(Halving, TheFirstStaysInToTheEnd) {
  Field field{{30, 9, 10, 11, 12, 13, 14}, 0.01, {}, {}};
  const auto found = halve(field.candidates(), field.measure(), always);
  EXPECT_EQ(field.efforts[1].size(), 4u);
  EXPECT_EQ(found->model_us, 30);
}

TEST(Halving, LeavesOutWhatIsWrong) {
  Field field{{12, 5, 13, 9, 14, 15}, 0.01, {2}, {}};
  const auto found = halve(field.candidates(), field.measure(), always);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->plans.front().plan, plan_of(4));
  EXPECT_EQ(found->wrong, std::vector{plan_of(2)});
  field.wrong = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(halve(field.candidates(), field.measure(), always).status().code(), Code::corrupt);
}

TEST(Halving, EndsWithinTheBudgetWithSomething) {
  Field field{{12, 11, 13, 9, 14, 15}, 0.01, {}, {}};
  int left = 2;
  const auto found = halve(field.candidates(), field.measure(), [&] { return left-- > 0; });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->timed, 3u);
  EXPECT_FALSE(found->finished);
  EXPECT_EQ(found->plans.front().plan, plan_of(2));
  EXPECT_EQ(halve(field.candidates(), field.measure(), [] { return false; })->plans.front().plan, plan_of(1));
}

TEST(Halving, TriesNoMoreThanWhatIsPromising) {
  Field field{std::vector<double>(60, 10.0), 0.01, {}, {}};
  auto candidates = field.candidates();
  for (std::size_t i = 10; i < candidates.size(); ++i) candidates[i].predicted_us = 100;
  EXPECT_EQ(halve(candidates, field.measure(), always)->timed, 10u);
  for (std::size_t i = 1; i < candidates.size(); ++i) candidates[i].predicted_us = 100;
  EXPECT_EQ(halve(candidates, field.measure(), always)->timed, 6u) << "the model may be wrong";
}

/// Plans of 1, 2, 4, … 256 blocks, the wider the faster, predicted so.
std::vector<Candidate> wider_is_faster() {
  std::vector<Candidate> all;
  for (unsigned blocks = coll::kMostBlocks; blocks > 0; blocks /= 2)
    all.push_back({plan_of(blocks), 10 + 100.0 / blocks});
  return all;
}
const Measure kAsPredicted = [](const coll::Plan& plan, int) -> Result<Timed> {
  return Timed{plan, 10 + 100.0 / plan.blocks, 0.01};
};

TEST(Halving, AddsPlansOfFewBlocksWhereTheFastestHaveMany) {
  Found found;
  found.plans = {{plan_of(256), 10.4, 0.01}};
  const auto all = add_narrow(found, wider_is_faster(), kAsPredicted, always);
  ASSERT_TRUE(all.ok());
  std::vector<unsigned> blocks;
  for (const Timed& timed : all->plans) blocks.push_back(timed.plan.blocks);
  EXPECT_EQ(blocks, (std::vector<unsigned>{256, 128, 64, 32, 16}));
  EXPECT_EQ(all->plans[3].us, 10 + 100.0 / 32);
  EXPECT_TRUE(all->finished);

  found.plans = {{plan_of(256), 10.4, 0.01}, {plan_of(16), 99, 0.01}};
  const auto again = add_narrow(found, wider_is_faster(), kAsPredicted, always);
  EXPECT_EQ(again->plans.size(), 5u);
  EXPECT_EQ(again->plans.back().us, 10 + 100.0 / 16) << "it was timed again";

  found.plans = {{plan_of(32), 10.4, 0.01}, {plan_of(256), 10.8, 0.01}};
  EXPECT_EQ(add_narrow(found, wider_is_faster(), kAsPredicted, always)->plans.size(), 2u) << "it is narrow";
}

TEST(Halving, PlansOfFewBlocksMayAllBeWrongOrComeTooLate) {
  Found found;
  found.plans = {{plan_of(256), 10.4, 0.01}};
  const Measure wrong = [](const coll::Plan&, int) -> Result<Timed> { return Status(Code::corrupt, "wrong"); };
  const auto none = add_narrow(found, wider_is_faster(), wrong, always);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->plans.size(), 1u);
  const auto late = add_narrow(found, wider_is_faster(), kAsPredicted, [] { return false; });
  ASSERT_TRUE(late.ok());
  EXPECT_FALSE(late->finished);
  const Measure lost = [](const coll::Plan&, int) -> Result<Timed> { return Status(Code::peer_lost, "gone"); };
  EXPECT_EQ(add_narrow(found, wider_is_faster(), lost, always).status().code(), Code::peer_lost);
}

TEST(Halving, OtherErrorsEndIt) {
  Field field{{12, 11}, 0.01, {}, {}};
  const Measure lost = [](const coll::Plan&, int) -> Result<Timed> { return Status(Code::peer_lost, "gone"); };
  EXPECT_EQ(halve(field.candidates(), lost, always).status().code(), Code::peer_lost);
}

}  // namespace
}  // namespace sennit::plan
