#include "path/feedback.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "base/units.h"
#include "machines.h"

namespace sennit::path {
namespace {

// Links whose routes deliver `factor` of their planned rate, with noise.
struct Links {
  std::map<std::string, double> factor;
  double noise = 0;
  std::mt19937 random{42};

  std::vector<double> send(const Split& plan, const Split& used) {
    std::vector<double> finish;
    for (const Share& share : used.shares) {
      double rate = 0;
      for (const Share& planned : plan.shares)
        if (planned.candidate.route.name() == share.candidate.route.name()) rate = planned.candidate.rate_gbps;
      const auto slowed = factor.find(share.candidate.route.name());
      if (slowed != factor.end()) rate *= slowed->second;
      const double error = std::normal_distribution<double>(1, noise)(random);
      finish.push_back((share.candidate.startup_us + double(share.bytes) / rate / 1e3) * std::max(0.5, error));
    }
    return finish;
  }
};

double gap(const std::vector<double>& finish) {
  const auto [first, last] = std::ranges::minmax(finish);
  return (last - first) / last;
}

struct Feedback : testing::Test {
  Split plan = *split(cedar(), "gpu0", "gpu1", 256 * MiB);
  ShareFeedback feedback;
  Links links;

  // One message; returns whether the shares changed after it.
  bool message() {
    const Split used = feedback.corrected(plan);
    return feedback.observe(plan, used, links.send(plan, used));
  }
  double current_gap() { return gap(Links{links.factor, 0, std::mt19937{1}}.send(plan, feedback.corrected(plan))); }
};

TEST_F(Feedback, LeavesAPlanThatHolds) {
  links.noise = 0.03;
  for (int i = 0; i < 500; ++i) EXPECT_FALSE(message()) << "message " << i;
  EXPECT_FALSE(feedback.correcting());
}

TEST_F(Feedback, WaitsForThreeSamplesInARow) {
  links.factor["gpu2 (engine)"] = 0.5;
  EXPECT_FALSE(message());
  EXPECT_FALSE(message());
  links.factor.clear();
  EXPECT_FALSE(message());  // the disturbance was brief
  links.factor["gpu2 (engine)"] = 0.5;
  EXPECT_FALSE(message());
  EXPECT_FALSE(message());
  EXPECT_TRUE(message());
}

TEST_F(Feedback, ConvergesWithinSixSamples) {
  for (const double factor : {0.7, 0.5, 0.3}) {
    feedback = ShareFeedback();
    links.factor["gpu2 (engine)"] = factor;
    const double before = current_gap();
    for (int i = 0; i < 6; ++i) message();
    EXPECT_GT(before, 0.2) << factor;
    EXPECT_LT(current_gap(), 0.05) << factor;
    // About what the link now delivers beside the others, its overhead aside.
    EXPECT_LT(share_of(feedback.corrected(plan), "gpu2 (engine)"), share_of(plan, "gpu2 (engine)") * (factor + 0.15));
  }
}

TEST_F(Feedback, ConvergesUnderNoiseAndThenStaysStill) {
  links.factor["direct"] = 0.5;
  links.noise = 0.03;
  for (int i = 0; i < 8; ++i) message();
  EXPECT_LT(current_gap(), 0.10);
  int changes = 0;
  double lowest = 1, highest = 0;
  for (int i = 0; i < 200; ++i) {
    changes += message();
    const double share = share_of(feedback.corrected(plan), "direct");
    lowest = std::min(lowest, share), highest = std::max(highest, share);
  }
  EXPECT_LE(changes, 10);
  EXPECT_LT(highest - lowest, 0.06);
}

TEST_F(Feedback, ReturnsToThePlanWhenTheDisturbanceEnds) {
  links.factor["gpu2 (engine)"] = 0.3;
  for (int i = 0; i < 10; ++i) message();
  EXPECT_TRUE(feedback.correcting());
  links.factor.clear();
  for (int i = 0; i < 12; ++i) message();
  EXPECT_FALSE(feedback.correcting());
  EXPECT_DOUBLE_EQ(share_of(feedback.corrected(plan), "gpu2 (engine)"), share_of(plan, "gpu2 (engine)"));
}

TEST_F(Feedback, KeepsProbingASqueezedRouteAndSeesItRecover) {
  links.factor["host0 (sm)"] = 0.01;
  for (int i = 0; i < 30; ++i) message();
  EXPECT_NEAR(share_of(feedback.corrected(plan), "host0 (sm)"), 0.01, 0.001);
  links.factor.clear();
  for (int i = 0; i < 30; ++i) message();
  EXPECT_NEAR(share_of(feedback.corrected(plan), "host0 (sm)"), share_of(plan, "host0 (sm)"), 0.01);
}

TEST_F(Feedback, MovesByBoundedSteps) {
  links.factor["direct"] = 0.05;
  for (int i = 0; i < 3; ++i) message();
  // Three samples say 1/20; the first correction believes 1/2.
  for (const Share& share : feedback.corrected(plan).shares)
    if (share.candidate.route.name() == "direct") {
      EXPECT_NEAR(share.candidate.rate_gbps, plan.shares[0].candidate.rate_gbps / 2, 0.01);
    }
}

TEST_F(Feedback, HoldsForOtherSizesOfThePair) {
  links.factor["gpu2 (engine)"] = 0.5;
  for (int i = 0; i < 8; ++i) message();
  const Split other = *split(cedar(), "gpu0", "gpu1", 64 * MiB);
  EXPECT_LT(share_of(feedback.corrected(other), "gpu2 (engine)"), 0.75 * share_of(other, "gpu2 (engine)"));
}

TEST_F(Feedback, CoversTheMessageExactly) {
  links.factor = {{"gpu2 (engine)", 0.02}, {"direct", 0.6}};
  for (int i = 0; i < 10; ++i) {
    message();
    std::uint64_t offset = 0;
    for (const Share& share : feedback.corrected(plan).shares) {
      EXPECT_EQ(share.offset, offset);
      EXPECT_EQ(share.offset % kAlignment, 0u);
      offset += share.bytes;
    }
    EXPECT_EQ(offset, plan.bytes);
  }
}

TEST_F(Feedback, IgnoresSamplesThatSayNothing) {
  EXPECT_FALSE(feedback.observe(plan, plan, std::vector<double>{1, 2}));
  EXPECT_FALSE(feedback.observe(plan, plan, std::vector<double>(plan.shares.size(), 0)));
  const Split single = *split(pcie_only(), "gpu0", "gpu1", 64 * MiB);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(feedback.observe(single, single, std::vector<double>{1e9}));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(feedback.observe(single, plan, std::vector<double>{1, 1e3, 1e3, 1e3}));
  EXPECT_FALSE(feedback.correcting());
}

}  // namespace
}  // namespace sennit::path
