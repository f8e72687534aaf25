#include "shim/mpi/comm/collective_vote.h"

#include <array>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {
namespace {

constexpr int kRanks = 3;

struct Boards {
  std::array<comm::Slot, kRanks> slots{};
  std::vector<CollectiveVote> of;
  Boards() {
    for (int rank = 0; rank < kRanks; ++rank)
      of.emplace_back(std::vector<comm::Slot*>{&slots[0], &slots[1], &slots[2]}, rank);
  }
};

TEST(CollectiveVote, AllMustOffer) {
  Boards votes;
  const auto number = votes.of[0].vote_yes();
  EXPECT_EQ(votes.of[0].outcome(number), std::nullopt);
  EXPECT_FALSE(votes.of[0].all_came());
  votes.of[1].vote_yes();
  votes.of[2].vote_yes();
  for (const CollectiveVote& vote : votes.of) EXPECT_EQ(vote.outcome(number), true);
  EXPECT_TRUE(votes.of[0].all_came());
}

TEST(CollectiveVote, TheFirstRankTellsWhatBecomesOfACall) {
  Boards votes;
  for (const bool yes : {true, false}) {
    const auto number = votes.of[0].vote_yes();
    EXPECT_EQ(votes.of[2].decision(number), std::nullopt);
    votes.of[0].decide(number, yes);
    for (const CollectiveVote& vote : votes.of) EXPECT_EQ(vote.decision(number), yes);
  }
}

TEST(CollectiveVote, OneThatPassesDecidesForAll) {
  Boards votes;
  const auto number = votes.of[0].vote_yes();
  votes.of[1].vote_no();
  votes.of[2].vote_yes();
  EXPECT_EQ(votes.of[0].outcome(number), false);
  EXPECT_EQ(votes.of[2].outcome(number), false);
  std::uint64_t next = 0;
  for (CollectiveVote& vote : votes.of) next = vote.vote_yes();
  EXPECT_EQ(votes.of[1].outcome(next), true);
}

TEST(CollectiveVote, RanksThatGiveOtherThingsAllSeeSo) {
  Boards votes;
  std::uint64_t number = 0;
  for (const std::uint32_t signature : {5U, 5U, 6U})
    number = votes.of[signature == 6 ? 2 : number == 0 ? 0 : 1].vote_yes(signature);
  for (const CollectiveVote& vote : votes.of) {
    EXPECT_EQ(vote.outcome(number), false);
    EXPECT_EQ(vote.first_mismatch(number), 2);
  }
  constexpr std::uint32_t kMost = (1U << kSignatureBits) - 1;
  for (CollectiveVote& vote : votes.of) number = vote.begin(kMost).value();
  for (const CollectiveVote& vote : votes.of) EXPECT_EQ(vote.outcome(number), true);
}

TEST(CollectiveVote, WhoPassesGivesNothingElse) {
  Boards votes;
  const auto number = votes.of[0].vote_yes(1);
  votes.of[1].vote_no();
  votes.of[2].vote_yes(2);
  EXPECT_EQ(votes.of[0].outcome(number), false);
  EXPECT_EQ(votes.of[0].first_mismatch(number), std::nullopt);
}

TEST(CollectiveVote, WhoPassesMayRunAhead) {
  Boards votes;
  for (int call = 0; call < 100; ++call) votes.of[1].vote_no();
  const auto number = votes.of[0].vote_yes();
  votes.of[2].vote_yes();
  EXPECT_EQ(votes.of[0].outcome(number), false);
}

TEST(CollectiveVote, WhoAnswersLateStillSeesTheCallBefore) {
  Boards votes;
  std::uint64_t first = 0;
  for (CollectiveVote& vote : votes.of) first = vote.vote_yes();
  // Ranks 0 and 1 have their answer, and are at their next call before rank 2 asks for its.
  EXPECT_EQ(votes.of[0].outcome(first), true);
  votes.of[1].vote_no();
  const auto next = votes.of[0].vote_yes();
  EXPECT_EQ(votes.of[2].outcome(first), true);
  EXPECT_EQ(votes.of[0].outcome(next), std::nullopt);
  EXPECT_EQ(votes.of[2].vote_yes(), next);
  EXPECT_EQ(votes.of[2].outcome(next), false);
  EXPECT_EQ(votes.of[0].outcome(next), false);
}

TEST(CollectiveVote, OneRankAloneNeedNotWait) {
  comm::Slot slot{};
  CollectiveVote vote({&slot}, 0);
  for (int call = 0; call < 5; ++call) {
    EXPECT_EQ(vote.outcome(vote.vote_yes()), true);
    vote.vote_no();
    EXPECT_TRUE(vote.all_came());
  }
}

TEST(CollectiveVote, CallsThatEndInARequestAreRememberedUntilAllHaveLooked) {
  Boards votes;
  std::array<std::uint64_t, 3> numbers{};
  for (auto& number : numbers) number = votes.of[0].begin().value();
  EXPECT_EQ(votes.of[0].begin(), std::nullopt) << "no place is left";
  for (int rank = 1; rank < kRanks; ++rank)
    for (const auto number : numbers) EXPECT_EQ(votes.of[std::size_t(rank)].begin(), number);
  for (const auto number : numbers) {
    EXPECT_EQ(votes.of[0].outcome(number), true);
    votes.of[0].looked(number);
    EXPECT_EQ(votes.of[0].begin(), std::nullopt) << "others have not looked";
  }
  votes.of[1].looked(numbers[0]);
  EXPECT_EQ(votes.of[0].begin(), std::nullopt) << "one has not looked";
  EXPECT_EQ(votes.of[2].outcome(numbers[0]), true);
  votes.of[2].looked(numbers[0]);
  const auto next = votes.of[0].begin();
  ASSERT_EQ(next, numbers[2] + 1);
  EXPECT_EQ(votes.of[0].begin(), std::nullopt);
  EXPECT_EQ(votes.of[2].outcome(numbers[1]), true);
  EXPECT_EQ(votes.of[2].outcome(numbers[2]), true);
}

TEST(CollectiveVote, WhoPassesACallKeepsNoPlaceTaken) {
  Boards votes;
  for (int call = 0; call < 20; ++call) {
    const auto number = votes.of[0].begin();
    ASSERT_TRUE(number.has_value());
    EXPECT_EQ(votes.of[0].outcome(*number), std::nullopt);
    votes.of[1].vote_no();
    votes.of[2].vote_no();
    EXPECT_EQ(votes.of[0].outcome(*number), false);
    votes.of[0].looked(*number);
  }
}

TEST(CollectiveVote, WhoDoesNotKnowTheOthersYetCanSayWhatItDoes) {
  std::array<comm::Slot, 2> slots{};
  CollectiveVote late(slots[0]), other({&slots[0], &slots[1]}, 1);
  const auto number = late.begin();
  ASSERT_TRUE(number.has_value());
  EXPECT_EQ(late.outcome(*number), std::nullopt);
  EXPECT_EQ(other.outcome(other.begin().value()), true);
  late.attach_slots({&slots[0], &slots[1]});
  EXPECT_EQ(late.outcome(*number), true);
}

/// Ranks that offer some calls and pass others at random: all that offered a call get the same answer, the right one.
TEST(CollectiveVote, ManyCallsOfManyRanks) {
  constexpr int kCalls = 3000;
  Boards votes;
  std::array<std::array<bool, kCalls>, kRanks> offers{};
  std::mt19937 random(7);
  for (int call = 0; call < kCalls; ++call) {
    const auto kind = random() % 3;  // all, none or some of them
    for (auto& mine : offers) mine[std::size_t(call)] = kind == 0 || (kind == 1 && random() % 2 == 0);
  }
  std::array<int, kRanks> wrong{};
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        CollectiveVote& vote = votes.of[std::size_t(rank)];
        for (std::size_t call = 0; call < kCalls; ++call) {
          if (!offers[std::size_t(rank)][call]) {
            vote.vote_no();
            continue;
          }
          const auto number = vote.vote_yes();
          std::optional<bool> answer;
          while (!(answer = vote.outcome(number))) std::this_thread::yield();
          if (*answer != (offers[0][call] && offers[1][call] && offers[2][call])) ++wrong[std::size_t(rank)];
        }
      });
  }
  EXPECT_EQ(wrong, (std::array<int, kRanks>{}));
}

}  // namespace
}  // namespace sennit::shim::mpi
