#include "plan/plan_switch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <thread>

namespace sennit::plan {
namespace {

class Ranks {
 public:
  explicit Ranks(int size)
      : states_(std::make_unique<comm::PlanSwitchSlot[]>(static_cast<std::size_t>(size))),
        samples_(std::make_unique<comm::SamplesSlot[]>(static_cast<std::size_t>(size))) {
    for (int rank = 0; rank < size; ++rank)
      words_.push_back({&states_[std::size_t(rank)], &samples_[std::size_t(rank)]});
    for (int rank = 0; rank < size; ++rank) plan_switches_.emplace_back(words_, rank);
  }
  PlanSwitch& operator[](int rank) { return plan_switches_[static_cast<std::size_t>(rank)]; }
  std::atomic<std::uint64_t>& change() { return words_[0].state->change; }

 private:
  std::unique_ptr<comm::PlanSwitchSlot[]> states_;
  std::unique_ptr<comm::SamplesSlot[]> samples_;
  std::vector<PlanSwitch::Words> words_;
  std::vector<PlanSwitch> plan_switches_;
};

bool never() {
  return false;
}

TEST(PlanSwitch, AChangeAppliesAtTheSameCallEverywhere) {
  Ranks ranks(3);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(ranks[1].call(never));
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(ranks[0].call(never));
  ASSERT_TRUE(ranks[0].propose({7, 1}));  // rank 1 is furthest, with 5: it applies from call 6 on
  for (int rank = 0; rank < 3; ++rank)
    while (ranks[rank].calls() < 5) EXPECT_FALSE(ranks[rank].call(never)) << rank;
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(ranks[rank].call(never), std::optional(Change{7, 1})) << rank;
  for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(ranks[rank].call(never)) << "once";
}

TEST(PlanSwitch, TheNextChangeWaitsUntilTheLastIsInForceEverywhere) {
  Ranks ranks(2);
  ASSERT_TRUE(ranks[0].propose({1, 1}));
  EXPECT_FALSE(ranks[0].propose({2, 2}));
  EXPECT_TRUE(ranks[0].call(never));
  EXPECT_FALSE(ranks[0].propose({2, 2}));
  EXPECT_TRUE(ranks[1].call(never));
  EXPECT_FALSE(ranks[0].propose({2, 2})) << "rank 1 may still be reading the first";
  for (const int rank : {0, 1}) EXPECT_FALSE(ranks[rank].call(never));
  EXPECT_TRUE(ranks[0].propose({2, 2}));
}

TEST(PlanSwitch, OfACallThatAllHaveTimedTheLeastCounts) {
  Ranks ranks(2);
  constexpr std::uint64_t kCall = PlanSwitch::kSamplePeriod;
  ranks[0].sample(kCall, 90.5);
  EXPECT_FALSE(ranks[0].fastest(kCall));
  ranks[1].sample(kCall, 30.25);
  EXPECT_EQ(ranks[0].fastest(kCall), std::optional(30.25));
  ranks[1].sample(kCall + PlanSwitch::kSamples * kCall, 20);  // the ring's next round
  EXPECT_FALSE(ranks[0].fastest(kCall));
}

TEST(PlanSwitch, WhoWaitsForAChangeCanGiveUp) {
  Ranks ranks(2);
  ranks.change().store(1);  // under way, and rank 0 has died
  int asked = 0;
  EXPECT_FALSE(ranks[1].call([&] { return ++asked == 3; }));
  EXPECT_EQ(asked, 3);
}

TEST(PlanSwitch, RanksThatRunAtTheirOwnPaceNeverDisagree) {
  constexpr int kRanks = 3, kCalls = 20000;
  Ranks ranks(kRanks);
  std::vector<std::vector<std::uint64_t>> taken(kRanks);  // by rank, the decision of every call
  std::array<std::atomic<int>, kRanks> at{};
  const auto slowest = [&] { return std::min({at[0].load(), at[1].load(), at[2].load()}); };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      std::minstd_rand random(static_cast<unsigned>(rank + 1));
      std::uint64_t current = 0, proposed = 0;
      for (int i = 0; i < kCalls; ++i) {
        // As ranks do whose GPUs wait for each other: some calls ahead, but not all.
        at[std::size_t(rank)].store(i);
        while (i > slowest() + 100) std::this_thread::yield();
        if (random() % 512 == 0) std::this_thread::yield();
        if (rank == 0 && random() % 4 == 0 && ranks[0].propose({0, proposed + 1})) ++proposed;
        if (const auto change = ranks[rank].call(never)) current = change->value;
        taken[std::size_t(rank)].push_back(current);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(taken[0].back(), 1u);
  for (int rank = 1; rank < kRanks; ++rank) EXPECT_EQ(taken[std::size_t(rank)], taken[0]) << rank;
}

}  // namespace
}  // namespace sennit::plan
