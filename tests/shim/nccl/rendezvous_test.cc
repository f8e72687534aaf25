#include "shim/nccl/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "comm/secret.h"
#include "shim/nccl/meeting.h"

namespace sennit::shim::nccl {
namespace {

/// As NCCL makes it: a number, and an address.
UniqueId id_of_nccl() {
  UniqueId id{};
  const std::string random = *comm::random_hex(8);
  std::memcpy(id.bytes, random.data(), 8);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::memcpy(id.bytes + 8, &address, sizeof address);
  return id;
}
std::string key_of_id(const UniqueId& id) {
  return key_of({id.bytes, sizeof id.bytes});
}

/// Ranks `from` to `to` - 1 of `most` announce themselves, and meet when all of these have.
std::vector<Result<std::unique_ptr<comm::Exchange>>> meet_some(const UniqueId& id, int from, int to, int most) {
  std::vector<std::unique_ptr<Rendezvous>> there;
  for (int rank = from; rank < to; ++rank) there.push_back(Rendezvous::announce(id, key_of_id(id), rank, most));
  std::vector<Result<std::unique_ptr<comm::Exchange>>> met;
  for (std::size_t i = 0; i < there.size(); ++i) met.emplace_back(Status(Code::aborted, "did not announce itself"));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < there.size(); ++i)
    threads.emplace_back([&, i] {
      if (there[i] != nullptr) met[i] = there[i]->meet();
    });
  for (std::thread& thread : threads) thread.join();
  return met;
}

TEST(NcclRendezvous, RanksThatAreAllThereExchangeWords) {
  UniqueId id = id_of_nccl();
  invite(id);
  auto met = meet_some(id, 0, 3, 3);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      auto& exchange = met[static_cast<std::size_t>(rank)];
      ASSERT_TRUE(exchange.ok()) << exchange.status().text();
      EXPECT_EQ((*exchange)->rank(), rank);
      EXPECT_EQ((*exchange)->size(), 3);
      for (int round = 0; round < 2; ++round) {
        const std::byte mine{static_cast<unsigned char>(10 * round + rank)};
        const auto all = (*exchange)->all_gather({&mine, 1});
        ASSERT_TRUE(all.ok()) << all.status().text();
        ASSERT_EQ(all->size(), 3u);
        for (int of = 0; of < 3; ++of)
          good += (*all)[static_cast<std::size_t>(of)][0] == std::byte{static_cast<unsigned char>(10 * round + of)};
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 2 * 9);
}

TEST(NcclRendezvous, WhereOneIsMissingTheOthersHearSoAtOnce) {
  for (const auto& [from, to] : {std::pair(0, 2), {1, 3}}) {
    UniqueId id = id_of_nccl();
    invite(id);
    const auto start = std::chrono::steady_clock::now();
    for (const auto& each : meet_some(id, from, to, 3)) {
      EXPECT_EQ(each.status().code(), Code::unsupported) << each.status().text();
      EXPECT_THAT(each.status().text(), testing::HasSubstr("not all ranks"));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  }
}

TEST(NcclRendezvous, OneThatGoesAwayIsMissing) {
  UniqueId id = id_of_nccl();
  invite(id);
  auto gone = Rendezvous::announce(id, key_of_id(id), 2, 3);
  ASSERT_NE(gone, nullptr);
  gone = nullptr;
  for (const auto& each : meet_some(id, 0, 2, 3)) EXPECT_FALSE(each.ok());
}

TEST(NcclRendezvous, AnIdWithoutAPortIsNcclsAlone) {
  const UniqueId id = id_of_nccl();
  EXPECT_EQ(Rendezvous::announce(id, key_of_id(id), 0, 2), nullptr);
}

TEST(NcclRendezvous, AnIdThatIsNotUnderstoodStaysAsItIs) {
  UniqueId other{};
  std::memset(other.bytes, 'x', sizeof other.bytes);
  UniqueId before = other;
  invite(other);
  EXPECT_EQ(std::memcmp(&other, &before, sizeof other), 0);
  UniqueId full = id_of_nccl();
  full.bytes[127] = 1;  // a version of NCCL that needs all of it
  before = full;
  invite(full);
  EXPECT_EQ(std::memcmp(&full, &before, sizeof full), 0);
}

TEST(NcclRendezvous, WhatNcclReadsOfAnIdIsNotTouched) {
  UniqueId id = id_of_nccl();
  const UniqueId before = id;
  invite(id);
  EXPECT_EQ(std::memcmp(&id, &before, 96), 0);
  EXPECT_NE(std::memcmp(&id, &before, sizeof id), 0);
}

TEST(NcclRendezvous, StrangersAreTurnedAway) {
  UniqueId id = id_of_nccl();
  invite(id);
  EXPECT_EQ(Rendezvous::announce(id, key_of("another secret"), 0, 2), nullptr);
  for (const auto& each : meet_some(id, 0, 2, 2)) EXPECT_TRUE(each.ok()) << each.status().text();
}

}  // namespace
}  // namespace sennit::shim::nccl
