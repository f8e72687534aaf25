#include "shim/nccl/growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "comm/secret.h"

namespace sennit::shim::nccl {
namespace {

UniqueId fresh_id() {
  UniqueId id{};
  const std::string random = *comm::random_hex(32);
  std::memcpy(&id, random.data(), random.size());
  return id;
}

/// Old ranks 0, 1, 2 of which 1 is the elder, and new ranks 3 and 4; what became of each that is not `away`.
std::vector<Result<Growth::Met>> grown(const std::set<int>& away) {
  constexpr int kOld = 3, kAll = 5;
  const UniqueId id = fresh_id();
  const std::string shared = key_of(*comm::random_hex(16));
  std::vector<Growth> announced;
  std::vector<int> ranks;
  for (int rank = 0; rank < kAll; ++rank) {
    if (away.contains(rank)) continue;
    ranks.push_back(rank);
    announced.push_back(rank < kOld ? Growth::of_old(shared, rank, kOld, rank == 1 ? &id : nullptr, kAll)
                                    : Growth::of_new(id, rank, kAll));
  }
  std::vector<Result<Growth::Met>> met;
  for (std::size_t i = 0; i < ranks.size(); ++i) met.emplace_back(Status(Code::timed_out, "did not run"));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] {
      met[i] = announced[i].meet(ranks[i], kAll);
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

TEST(Growth, OldAndNewRanksMeet) {
  const auto met = grown({});
  ASSERT_EQ(met.size(), 5u);
  for (const auto& each : met) {
    ASSERT_TRUE(each.ok()) << each.status().text();
    EXPECT_EQ(each->exchange->size(), 5);
    EXPECT_EQ(each->key, met[0]->key) << "parts of it meet by this";
  }
}

TEST(Growth, WhereOneIsAwayNobodyWaitsForIt) {
  for (const std::set<int>& away : {std::set<int>{0}, {1}, {2}, {3}, {4}, {3, 4}, {0, 3}, {1, 2}, {0, 1, 2}}) {
    const auto start = std::chrono::steady_clock::now();
    for (const auto& each : grown(away)) {
      ASSERT_FALSE(each.ok());
      EXPECT_EQ(each.status().code(), Code::unsupported) << each.status().text();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  }
}

TEST(Growth, KeysAreOfOneTime) {
  EXPECT_NE(grown({})[0]->key, grown({})[0]->key);
}

}  // namespace
}  // namespace sennit::shim::nccl
