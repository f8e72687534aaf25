#include "net/all_to_all.h"

#include <gtest/gtest.h>

#include "net/relay.h"

namespace sennit::net {
namespace {

TEST(Rounds, CoverEveryMessageOnceForEveryNode) {
  for (const int nodes : {2, 3, 5})
    for (const std::uint64_t longest : {1ull, 128ull, 100'000ull, 1'000'003ull})
      for (const std::uint64_t message : {std::uint64_t{0}, std::uint64_t{1}, longest / 2, longest}) {
        std::vector<std::uint64_t> carried(static_cast<std::size_t>(nodes));
        for (const Round& round : rounds_of(nodes, longest, 50'000)) {
          std::uint64_t& before = carried[static_cast<std::size_t>(round.distance)];
          EXPECT_TRUE(round.begin == before || round.piece_of(message) == 0);
          EXPECT_EQ(round.begin % kGrain, 0u);
          EXPECT_TRUE(round.end - round.begin <= 50'000 || round.distance == 0);
          before += round.piece_of(message);
        }
        for (const std::uint64_t bytes : carried) EXPECT_EQ(bytes, message) << nodes << " nodes, " << longest;
      }
}

TEST(Rounds, TakeNodesInTurnAndTheOwnOneLast) {
  const auto rounds = rounds_of(3, 250, 128);
  ASSERT_EQ(rounds.size(), 5u);
  for (const int i : {0, 2}) EXPECT_EQ(rounds[static_cast<std::size_t>(i)].distance, 1);
  for (const int i : {1, 3}) EXPECT_EQ(rounds[static_cast<std::size_t>(i)].distance, 2);
  EXPECT_EQ(rounds[3].begin, 128u);
  EXPECT_EQ(rounds[4].distance, 0);
  EXPECT_EQ(rounds[4].end, 250u);
}

TEST(Rounds, AreNoneForNothing) {
  EXPECT_TRUE(rounds_of(3, 0, 128).empty());
}

TEST(Rounds, HavePiecesOfAGrainWhereThatIsMoreThanMost) {
  EXPECT_EQ(rounds_of(2, 3 * kGrain, 1).size(), 4u);
}

TEST(Packed, BeginsEachPieceAtAGrain) {
  Packed packed;
  for (const std::uint64_t length : {1, 0, 128, 129}) packed.add(length);
  EXPECT_EQ(packed.places, (std::vector<std::uint64_t>{0, 128, 128, 256}));
  EXPECT_EQ(packed.lengths, (std::vector<std::uint64_t>{1, 0, 128, 129}));
  EXPECT_EQ(packed.bytes, 512u);
}

}  // namespace
}  // namespace sennit::net
