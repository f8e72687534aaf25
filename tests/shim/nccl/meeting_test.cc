#include "shim/nccl/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "coll/layout_version.h"
#include "comm/secret.h"

namespace sennit::shim::nccl {
namespace {

using testing::ElementsAre;

/// One that no other test has, nor another run of it.
std::string fresh_key() {
  return key_of(*comm::random_hex(16));
}

TEST(Meeting, ThoseWhoAnnouncedThemselvesAreThere) {
  const std::string key = fresh_key();
  const Meeting first(key, 0, 4), third(key, 2, 4);
  EXPECT_THAT(third.present(), ElementsAre(0, 2));
  {
    const Meeting last(key, 3, 4);
    EXPECT_THAT(first.present(), ElementsAre(0, 2, 3));
  }
  EXPECT_THAT(first.present(), ElementsAre(0, 2)) << "it is gone";
}

TEST(Meeting, OthersWithAnotherKeyAreNot) {
  const Meeting mine(key_of("one"), 0, 2), other(key_of("another"), 1, 2);
  EXPECT_THAT(mine.present(), ElementsAre(0));
}

TEST(Meeting, RanksOfAnotherNodeAreNot) {
  const std::string key = fresh_key();
  const Meeting mine(key, 0, 2);
  setenv("SENNIT_NODE", "other", 1);
  const Meeting other(key, 1, 2);
  unsetenv("SENNIT_NODE");
  EXPECT_THAT(mine.present(), ElementsAre(0));
  EXPECT_THAT(other.present(), ElementsAre(1));
}

TEST(Meeting, ANumberTwiceIsThereOnce) {
  const std::string key = fresh_key();
  const Meeting one(key, 1, 2), again(key, 1, 2);
  EXPECT_THAT(again.present(), ElementsAre(1));
}

TEST(Meeting, RanksMeetWhateverTheirNumbersWere) {
  const std::string key = fresh_key();
  constexpr int kRanks = 4;
  std::vector<std::optional<Meeting>> meetings(kRanks);
  for (int i = 0; i < kRanks; ++i) meetings[std::size_t(i)].emplace(key, i, kRanks);
  std::vector<std::thread> threads;
  std::vector<int> good(kRanks);
  for (int index = 0; index < kRanks; ++index)
    threads.emplace_back([&, index] {
      const int rank = kRanks - 1 - index;
      auto exchange = meetings[std::size_t(index)]->meet(rank, kRanks);
      ASSERT_TRUE(exchange.ok()) << exchange.status().text();
      const std::byte mine{static_cast<unsigned char>(rank)};
      const auto all = (*exchange)->all_gather({&mine, 1});
      ASSERT_TRUE(all.ok()) << all.status().text();
      for (int other = 0; other < kRanks; ++other)
        good[std::size_t(index)] += (*all)[std::size_t(other)][0] == std::byte{static_cast<unsigned char>(other)};
    });
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(good, testing::Each(kRanks));
}

TEST(Meeting, OneAloneMeetsNobody) {
  const Meeting meeting(fresh_key(), 0, 1);
  const auto exchange = meeting.meet(0, 1);
  ASSERT_TRUE(exchange.ok());
  EXPECT_EQ((*exchange)->size(), 1);
}

TEST(Meeting, KeysAreOfTheirOwn) {
  EXPECT_EQ(key_of("an id"), key_of("an id"));
  EXPECT_NE(key_of("an id"), key_of("another id"));
  EXPECT_EQ(key_of("an id"), key_of("an id", own_build()));
  EXPECT_NE(key_of("an id"), key_of("an id", coll::build_of("0.1.0", coll::kLayoutVersion + 1)));
}

}  // namespace
}  // namespace sennit::shim::nccl
