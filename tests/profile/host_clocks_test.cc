#include "profile/host_clocks.h"

#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "profile/merge.h"

namespace sennit::profile {
namespace {

/// Two hosts with a rank each. The second one's clock is ahead by `ahead` ns, and by `drift` ns a second more and
/// more.
std::vector<Rank> two_hosts(std::int64_t ahead, std::int64_t drift, std::string_view function = "MPI_Allreduce") {
  std::vector<Rank> ranks(2);
  std::mt19937_64 random(5);
  for (std::size_t i = 0; i < 2; ++i) {
    ranks[i].rank = static_cast<int>(i);
    ranks[i].ranks = 2;
    ranks[i].host = ranks[i].clock = i == 0 ? "left" : "right";
    ranks[i].functions = {std::string(function)};
    ranks[i].communicators = {NamedCommunicator{.id = 7, .parent = 0, .size = 2, .rank = 0, .name = {}}};
    ranks[i].hows = ranks[i].phases = ranks[i].reductions = ranks[i].types = {""};
  }
  const auto turned = [&](std::uint64_t ns) {
    return ns + static_cast<std::uint64_t>(ahead + drift * static_cast<std::int64_t>(ns / 1000) / 1'000'000);
  };
  for (std::uint32_t call = 1; call <= 5000; ++call) {
    const std::uint64_t base = 1'000'000'000 + call * 2'000'000ull;
    const std::uint64_t begins[] = {base + random() % 100'000, base + random() % 100'000};
    const std::uint64_t met = std::max(begins[0], begins[1]);
    for (std::size_t i = 0; i < 2; ++i) {
      Call made{};
      made.bytes_in = made.bytes_out = 8;
      made.sequence = call;
      made.begin = i == 0 ? begins[i] : turned(begins[i]);
      const std::uint64_t end = met + 3'000 + random() % 20'000;
      made.end = i == 0 ? end : turned(end);
      ranks[i].calls.push_back({made, 0});
    }
  }
  return ranks;
}

void align_clocks(std::vector<Rank>& ranks) {
  HostClocks clocks;
  for (const Rank& rank : ranks) clocks.add(rank);
  clocks.compare(ranks.front().host);
  for (Rank& rank : ranks) clocks.align(rank);
}

TEST(HostClocks, AreComparedByWhatAllRanksWaitFor) {
  for (const std::int64_t ahead : {std::int64_t{0}, std::int64_t{123'456'789}, std::int64_t{-900'000'000}})
    for (const std::int64_t drift : {0, 40'000, -40'000}) {  // ns a second
      const std::vector<Rank> truth = two_hosts(0, 0);
      std::vector<Rank> ranks = two_hosts(ahead, drift);
      align_clocks(ranks);
      EXPECT_EQ(ranks[1].clock, "left");
      EXPECT_GT(ranks[1].clock_error_ns, 0u);
      EXPECT_LT(ranks[1].clock_error_ns, 20'000u);
      for (std::size_t i = 0; i < truth[1].calls.size(); ++i) {
        const auto wrong = std::llabs(static_cast<long long>(ranks[1].calls[i].call.begin) -
                                      static_cast<long long>(truth[1].calls[i].call.begin));
        ASSERT_LE(static_cast<std::uint64_t>(wrong), ranks[1].clock_error_ns) << ahead << " " << drift << " " << i;
      }
    }
}

TEST(HostClocks, WhatRanksLeaveBeforeAllHaveComeTellsNothing) {
  std::vector<Rank> ranks = two_hosts(1000, 0, "MPI_Bcast");
  align_clocks(ranks);
  EXPECT_EQ(ranks[1].clock, "right");
  EXPECT_EQ(ranks[1].clock_error_ns, 0u);
}

TEST(HostClocks, BetweenAndAroundComparisons) {
  const HostClock clock{.known = {{1000, 10, 3}, {3000, 30, 5}}, .gain = 0.5, .drift = 1e-3};
  EXPECT_EQ(clock.at(2000).ahead, 20 + 500);
  EXPECT_EQ(clock.at(2000).error, 5u);
  EXPECT_EQ(clock.at(3000).ahead, 30 + 1000);
  EXPECT_EQ(clock.at(0).ahead, 10 - 500);
  EXPECT_EQ(clock.at(1'003'000).ahead, 30 + 501'000);
  EXPECT_EQ(clock.at(1'003'000).error, 5u + 1000u);
}

/// The last rank is found across hosts, where it is later than the clocks may be wrong.
TEST(HostClocks, MakeWaitingKnownBetweenHosts) {
  std::vector<Rank> ranks = two_hosts(500'000'000, 0);
  const Profile profile = merge(std::move(ranks)).value();
  ASSERT_EQ(profile.skews.size(), 1u);
  EXPECT_EQ(profile.skews[0].calls, 5000u);
  EXPECT_GT(profile.skews[0].wait_seconds, 0.05);
  EXPECT_LT(profile.skews[0].wait_seconds, 0.25);
}

}  // namespace
}  // namespace sennit::profile
