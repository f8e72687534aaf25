#include "shim/nccl/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "coll/layout_version.h"
#include "comm/secret.h"

namespace sennit::shim::nccl {
namespace {

using testing::ElementsAre;

/// One that no other test has, nor another run of it.
std::string fresh_key() {
  return key_of(*comm::random_hex(16));
}

TEST(LocalRendezvous, ThoseWhoPublishedThemselvesAreThere) {
  const std::string key = fresh_key();
  const LocalRendezvous first(key, 0, 4), third(key, 2, 4);
  EXPECT_THAT(third.present(), ElementsAre(0, 2));
  {
    const LocalRendezvous last(key, 3, 4);
    EXPECT_THAT(first.present(), ElementsAre(0, 2, 3));
  }
  EXPECT_THAT(first.present(), ElementsAre(0, 2)) << "it is gone";
}

TEST(LocalRendezvous, OthersWithAnotherKeyAreNot) {
  const LocalRendezvous mine(key_of("one"), 0, 2), other(key_of("another"), 1, 2);
  EXPECT_THAT(mine.present(), ElementsAre(0));
}

TEST(LocalRendezvous, RanksOfAnotherNodeAreNot) {
  const std::string key = fresh_key();
  const LocalRendezvous mine(key, 0, 2);
  setenv("SENNIT_NODE", "other", 1);
  const LocalRendezvous other(key, 1, 2);
  unsetenv("SENNIT_NODE");
  EXPECT_THAT(mine.present(), ElementsAre(0));
  EXPECT_THAT(other.present(), ElementsAre(1));
}

TEST(LocalRendezvous, ANumberTwiceIsThereOnce) {
  const std::string key = fresh_key();
  const LocalRendezvous one(key, 1, 2), again(key, 1, 2);
  EXPECT_THAT(again.present(), ElementsAre(1));
}

TEST(LocalRendezvous, RanksMeetWhateverTheirNumbersWere) {
  const std::string key = fresh_key();
  constexpr int kRanks = 4;
  std::vector<std::optional<LocalRendezvous>> rendezvous(kRanks);
  for (int i = 0; i < kRanks; ++i) rendezvous[std::size_t(i)].emplace(key, i, kRanks);
  std::vector<std::thread> threads;
  std::vector<int> good(kRanks);
  for (int index = 0; index < kRanks; ++index)
    threads.emplace_back([&, index] {
      const int rank = kRanks - 1 - index;
      auto exchange = rendezvous[std::size_t(index)]->meet(rank, kRanks);
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

TEST(LocalRendezvous, OneAloneMeetsNoOther) {
  const LocalRendezvous alone(fresh_key(), 0, 1);
  const auto exchange = alone.meet(0, 1);
  ASSERT_TRUE(exchange.ok());
  EXPECT_EQ((*exchange)->size(), 1);
}

TEST(LocalRendezvous, KeysAreOfTheirOwn) {
  EXPECT_EQ(key_of("an id"), key_of("an id"));
  EXPECT_NE(key_of("an id"), key_of("another id"));
  EXPECT_EQ(key_of("an id"), key_of("an id", own_build()));
  EXPECT_NE(key_of("an id"), key_of("an id", coll::build_of("0.1.0", coll::kLayoutVersion + 1)));
}

UniqueId fresh_id() {
  UniqueId id{};
  const std::string random = *comm::random_hex(32);
  std::memcpy(&id, random.data(), random.size());
  return id;
}

/// Old ranks 0, 1, 2 of which 1 is the bridge, and new ranks 3 and 4; what became of each that is not `away`.
std::vector<Result<GrowRendezvous::Met>> grown(const std::set<int>& away) {
  constexpr int kOld = 3, kAll = 5;
  const UniqueId id = fresh_id();
  const std::string shared = key_of(*comm::random_hex(16));
  std::vector<GrowRendezvous> published;
  std::vector<int> ranks;
  for (int rank = 0; rank < kAll; ++rank) {
    if (away.contains(rank)) continue;
    ranks.push_back(rank);
    published.push_back(rank < kOld ? GrowRendezvous::of_old(shared, rank, kOld, rank == 1 ? &id : nullptr, kAll)
                                    : GrowRendezvous::of_new(id, rank, kAll));
  }
  std::vector<Result<GrowRendezvous::Met>> met;
  for (std::size_t i = 0; i < ranks.size(); ++i) met.emplace_back(Status(Code::timed_out, "did not run"));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] {
      met[i] = published[i].meet(ranks[i], kAll);
      if (!met[i].ok()) return;
      const std::byte mine{static_cast<unsigned char>(ranks[i])};
      const auto all = met[i]->exchange->all_gather({&mine, 1});
      ASSERT_TRUE(all.ok()) << all.status().text();
      for (std::size_t other = 0; other < all->size(); ++other)
        EXPECT_EQ((*all)[other][0], std::byte{static_cast<unsigned char>(other)});
    });
  for (auto& thread : threads) thread.join();
  return met;
}

TEST(GrowRendezvous, OldAndNewRanksMeet) {
  const auto met = grown({});
  ASSERT_EQ(met.size(), 5u);
  for (const auto& each : met) {
    ASSERT_TRUE(each.ok()) << each.status().text();
    EXPECT_EQ(each->exchange->size(), 5);
    EXPECT_EQ(each->key, met[0]->key) << "parts of it meet by this";
  }
}

TEST(GrowRendezvous, WhereOneIsAwayNoRankWaitsForIt) {
  for (const std::set<int>& away : {std::set<int>{0}, {1}, {2}, {3}, {4}, {3, 4}, {0, 3}, {1, 2}, {0, 1, 2}}) {
    const auto start = std::chrono::steady_clock::now();
    for (const auto& each : grown(away)) {
      ASSERT_FALSE(each.ok());
      EXPECT_EQ(each.status().code(), Code::unsupported) << each.status().text();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  }
}

TEST(GrowRendezvous, KeysAreOfOneTime) {
  EXPECT_NE(grown({})[0]->key, grown({})[0]->key);
}

}  // namespace
}  // namespace sennit::shim::nccl
