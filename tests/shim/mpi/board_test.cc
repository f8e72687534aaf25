#include "shim/mpi/board.h"

#include <array>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {
namespace {

constexpr int kRanks = 3;

struct Boards {
  std::array<comm::Slot, kRanks> slots{};
  std::vector<Board> of;
  Boards() {
    for (int rank = 0; rank < kRanks; ++rank)
      of.emplace_back(std::vector<comm::Slot*>{&slots[0], &slots[1], &slots[2]}, rank);
  }
};

TEST(Board, AllMustOffer) {
  Boards boards;
  const auto number = boards.of[0].offer();
  EXPECT_EQ(boards.of[0].answer(number), std::nullopt);
  EXPECT_FALSE(boards.of[0].all_came());
  boards.of[1].offer();
  boards.of[2].offer();
  for (const Board& board : boards.of) EXPECT_EQ(board.answer(number), true);
  EXPECT_TRUE(boards.of[0].all_came());
}

TEST(Board, TheFirstRankTellsWhatBecomesOfACall) {
  Boards boards;
  for (const bool yes : {true, false}) {
    const auto number = boards.of[0].offer();
    EXPECT_EQ(boards.of[2].decision(number), std::nullopt);
    boards.of[0].decide(number, yes);
    for (const Board& board : boards.of) EXPECT_EQ(board.decision(number), yes);
  }
}

TEST(Board, OneThatPassesDecidesForAll) {
  Boards boards;
  const auto number = boards.of[0].offer();
  boards.of[1].pass();
  boards.of[2].offer();
  EXPECT_EQ(boards.of[0].answer(number), false);
  EXPECT_EQ(boards.of[2].answer(number), false);
  std::uint64_t next = 0;
  for (Board& board : boards.of) next = board.offer();
  EXPECT_EQ(boards.of[1].answer(next), true);
}

TEST(Board, RanksThatGiveOtherThingsAllSeeSo) {
  Boards boards;
  std::uint64_t number = 0;
  for (const std::uint32_t signature : {5U, 5U, 6U})
    number = boards.of[signature == 6 ? 2 : number == 0 ? 0 : 1].offer(signature);
  for (const Board& board : boards.of) {
    EXPECT_EQ(board.answer(number), false);
    EXPECT_EQ(board.odd(number), 2);
  }
  constexpr std::uint32_t kMost = (1U << kSignatureBits) - 1;
  for (Board& board : boards.of) number = board.begin(kMost).value();
  for (const Board& board : boards.of) EXPECT_EQ(board.answer(number), true);
}

TEST(Board, WhoPassesGivesNothingElse) {
  Boards boards;
  const auto number = boards.of[0].offer(1);
  boards.of[1].pass();
  boards.of[2].offer(2);
  EXPECT_EQ(boards.of[0].answer(number), false);
  EXPECT_EQ(boards.of[0].odd(number), std::nullopt);
}

TEST(Board, WhoPassesMayRunAhead) {
  Boards boards;
  for (int call = 0; call < 100; ++call) boards.of[1].pass();
  const auto number = boards.of[0].offer();
  boards.of[2].offer();
  EXPECT_EQ(boards.of[0].answer(number), false);
}

TEST(Board, WhoAnswersLateStillSeesTheCallBefore) {
  Boards boards;
  std::uint64_t first = 0;
  for (Board& board : boards.of) first = board.offer();
  // Ranks 0 and 1 have their answer, and are at their next call before rank 2 asks for its.
  EXPECT_EQ(boards.of[0].answer(first), true);
  boards.of[1].pass();
  const auto next = boards.of[0].offer();
  EXPECT_EQ(boards.of[2].answer(first), true);
  EXPECT_EQ(boards.of[0].answer(next), std::nullopt);
  EXPECT_EQ(boards.of[2].offer(), next);
  EXPECT_EQ(boards.of[2].answer(next), false);
  EXPECT_EQ(boards.of[0].answer(next), false);
}

TEST(Board, OneRankAloneNeedNotWait) {
  comm::Slot slot{};
  Board board({&slot}, 0);
  for (int call = 0; call < 5; ++call) {
    EXPECT_EQ(board.answer(board.offer()), true);
    board.pass();
    EXPECT_TRUE(board.all_came());
  }
}

TEST(Board, CallsThatEndInARequestAreRememberedUntilAllHaveLooked) {
  Boards boards;
  std::array<std::uint64_t, 3> numbers{};
  for (auto& number : numbers) number = boards.of[0].begin().value();
  EXPECT_EQ(boards.of[0].begin(), std::nullopt) << "no place is left";
  for (int rank = 1; rank < kRanks; ++rank)
    for (const auto number : numbers) EXPECT_EQ(boards.of[std::size_t(rank)].begin(), number);
  for (const auto number : numbers) {
    EXPECT_EQ(boards.of[0].answer(number), true);
    boards.of[0].looked(number);
    EXPECT_EQ(boards.of[0].begin(), std::nullopt) << "others have not looked";
  }
  boards.of[1].looked(numbers[0]);
  EXPECT_EQ(boards.of[0].begin(), std::nullopt) << "one has not looked";
  EXPECT_EQ(boards.of[2].answer(numbers[0]), true);
  boards.of[2].looked(numbers[0]);
  const auto next = boards.of[0].begin();
  ASSERT_EQ(next, numbers[2] + 1);
  EXPECT_EQ(boards.of[0].begin(), std::nullopt);
  EXPECT_EQ(boards.of[2].answer(numbers[1]), true);
  EXPECT_EQ(boards.of[2].answer(numbers[2]), true);
}

TEST(Board, WhoPassesACallKeepsNoPlaceTaken) {
  Boards boards;
  for (int call = 0; call < 20; ++call) {
    const auto number = boards.of[0].begin();
    ASSERT_TRUE(number.has_value());
    EXPECT_EQ(boards.of[0].answer(*number), std::nullopt);
    boards.of[1].pass();
    boards.of[2].pass();
    EXPECT_EQ(boards.of[0].answer(*number), false);
    boards.of[0].looked(*number);
  }
}

TEST(Board, WhoDoesNotKnowTheOthersYetCanSayWhatItDoes) {
  std::array<comm::Slot, 2> slots{};
  Board late(slots[0]), other({&slots[0], &slots[1]}, 1);
  const auto number = late.begin();
  ASSERT_TRUE(number.has_value());
  EXPECT_EQ(late.answer(*number), std::nullopt);
  EXPECT_EQ(other.answer(other.begin().value()), true);
  late.seat({&slots[0], &slots[1]});
  EXPECT_EQ(late.answer(*number), true);
}

/// Ranks that offer some calls and pass others at random: all that offered a call get the same answer, the right one.
TEST(Board, ManyCallsOfManyRanks) {
  constexpr int kCalls = 3000;
  Boards boards;
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
        Board& board = boards.of[std::size_t(rank)];
        for (std::size_t call = 0; call < kCalls; ++call) {
          if (!offers[std::size_t(rank)][call]) {
            board.pass();
            continue;
          }
          const auto number = board.offer();
          std::optional<bool> answer;
          while (!(answer = board.answer(number))) std::this_thread::yield();
          if (*answer != (offers[0][call] && offers[1][call] && offers[2][call])) ++wrong[std::size_t(rank)];
        }
      });
  }
  EXPECT_EQ(wrong, (std::array<int, kRanks>{}));
}

}  // namespace
}  // namespace sennit::shim::mpi
