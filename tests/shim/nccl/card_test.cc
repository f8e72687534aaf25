#include "shim/nccl/card.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "device/memory.h"

namespace sennit::shim::nccl {
namespace {

constexpr std::uint64_t kScratch = 64 << 20;

Card card_of(std::uint64_t process) {
  return {{32, 66}, process, "measured allreduce,bcast", "2.28.9", kScratch};
}

std::vector<comm::Bytes> written(const std::vector<Card>& cards) {
  std::vector<comm::Bytes> bytes;
  for (const Card& card : cards) bytes.push_back(card.write());
  return bytes;
}

// What every rank says of them, which has to be the same.
std::string refused(const std::vector<Card>& cards) {
  const auto bytes = written(cards);
  std::string said;
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const auto agreed = compare(bytes, static_cast<int>(rank));
    EXPECT_EQ(agreed.status().code(), Code::mismatch);
    if (rank == 0) said = agreed.status().what();
    EXPECT_EQ(agreed.status().what(), said);
  }
  return said;
}

TEST(Card, IsReadAsItWasWritten) {
  const auto read = Card::read(card_of(7).write());
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(*read, card_of(7));
  Card other = card_of(8);
  other.no_blocks = true;
  other.blocking = false;
  other.has_table = true;
  ASSERT_TRUE(Card::read(other.write()).ok());
  EXPECT_EQ(*Card::read(other.write()), other);
}

TEST(Card, SaysWhatARankHas) {
  setenv("SENNIT_TABLE", "some.json", 1);
  Switches switches;
  switches.nccl = "2.28.9";
  Config config;
  config.blocking = false;
  EXPECT_EQ(Card::of(switches, config, {4, 66}, 7),
            (Card{{4, 66}, device::this_process(), told_of(switches), "2.28.9", 7, false, false, true}));
  setenv("SENNIT_TABLE", "none", 1);
  EXPECT_FALSE(Card::of(switches, config, {4, 66}, 7).has_table);
  unsetenv("SENNIT_TABLE");
}

TEST(Card, TellsSwitchesApart) {
  Switches all, some, none;
  all.take = Take::all;
  some.operations = {"allreduce", "bcast"};
  none.operations = {"none"};
  EXPECT_EQ((std::set{told_of({}), told_of(all), told_of(some), told_of(none)}).size(), 4U);
}

TEST(Card, ThatEndsEarlyOrHoldsTooMuchIsNone) {
  auto bytes = card_of(7).write();
  bytes.push_back({});
  EXPECT_FALSE(Card::read(bytes).ok());
  EXPECT_FALSE(compare({card_of(7).write(), bytes}, 0).ok());
  bytes.resize(bytes.size() - 2);
  EXPECT_FALSE(Card::read(bytes).ok());
  EXPECT_FALSE(Card::read({}).ok());
}

TEST(Cards, AllGoByTheLeastRoom) {
  Card narrow = card_of(2), few_for_messages = card_of(3);
  narrow.room.blocks = 4;
  few_for_messages.room.of_messages = 8;
  const auto bytes = written({card_of(1), narrow, few_for_messages});
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(*compare(bytes, rank), (Agreed{false, false, {4, 8}, kScratch})) << rank;
}

TEST(Cards, Rank0sScratchCounts) {
  Card less = card_of(2);
  less.scratch_bytes = 16 << 20;
  EXPECT_EQ(compare(written({card_of(1), less}), 1)->scratch_bytes, kScratch);
  EXPECT_EQ(compare(written({less, card_of(1)}), 1)->scratch_bytes, less.scratch_bytes);
}

TEST(Cards, ARankThatWantsNoBlocksIsEnough) {
  Card without = card_of(2);
  without.no_blocks = true;
  EXPECT_FALSE(compare(written({card_of(1), card_of(3)}), 0)->no_blocks);
  for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(compare(written({card_of(1), without}), rank)->no_blocks) << rank;
}

TEST(Cards, AllHaveToBlockAndOneTableIsEnough) {
  Card patient = card_of(2), tuned = card_of(3);
  patient.blocking = false;
  tuned.has_table = true;
  EXPECT_TRUE(compare(written({card_of(1), tuned}), 0)->blocking);
  EXPECT_FALSE(compare(written({card_of(1), patient}), 0)->any_table);
  for (int rank = 0; rank < 3; ++rank) {
    const auto agreed = compare(written({card_of(1), patient, tuned}), rank);
    EXPECT_FALSE(agreed->blocking) << rank;
    EXPECT_TRUE(agreed->any_table) << rank;
  }
}

TEST(Cards, RanksOfOneProcessKnowIt) {
  const auto bytes = written({card_of(1), card_of(2), card_of(1)});
  EXPECT_EQ(*compare(bytes, 0), (Agreed{true, true, {32, 66}, kScratch}));
  EXPECT_EQ(*compare(bytes, 1), (Agreed{false, true, {32, 66}, kScratch}));
  EXPECT_EQ(*compare(bytes, 2), (Agreed{true, true, {32, 66}, kScratch}));
}

TEST(Cards, WhatDiffersIsNamedWithTheRank) {
  Card takes_all = card_of(2), other_nccl = card_of(2);
  takes_all.told = "all allreduce,bcast";
  other_nccl.nccl = "2.28.9 without multicast";
  EXPECT_EQ(refused({card_of(1), takes_all}), "rank 1 has another SENNIT_TAKE or SENNIT_OPS than rank 0");
  EXPECT_EQ(refused({card_of(1), card_of(3), takes_all}), "rank 2 has another SENNIT_TAKE or SENNIT_OPS than rank 0");
  EXPECT_EQ(refused({card_of(1), other_nccl, takes_all}), "rank 1 has another NCCL or NCCL_NVLS_ENABLE than rank 0");
}

TEST(RoomOn, IsAQuarterAndNoMoreThanNcclsOwn) {
  const auto expect = [](unsigned concurrent, unsigned allowed, unsigned blocks, unsigned of_messages) {
    const plan::Room room = room_on(concurrent, allowed);
    EXPECT_EQ(room.blocks, blocks) << concurrent << " " << allowed;
    EXPECT_EQ(room.of_messages, of_messages) << concurrent << " " << allowed;
  };
  expect(132, 0, 32, 66);  // an H200's
  expect(40, 0, 20, 20);
  expect(1, 0, 1, 1);
  expect(0, 0, 1, 1);
}

TEST(RoomOn, TheUserAllowsCollectivesFewer) {
  EXPECT_EQ(room_on(132, 4).blocks, 4U);
  EXPECT_EQ(room_on(132, 4).of_messages, 66U);
  EXPECT_EQ(room_on(132, 64).blocks, 32U) << "and no more";
}

}  // namespace
}  // namespace sennit::shim::nccl
