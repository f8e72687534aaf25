#include "shim/mpi/rma/public_copy.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::shim::mpi {
namespace {

using Bytes = std::vector<std::byte>;

bool operator==(const Changed& one, const Changed& other) {
  return one.first == other.first && one.last == other.last;
}

TEST(Merge, WhatEitherSideChangedIsInBoth) {
  Bytes before(20000), mine(before), theirs(before);
  mine[3] = std::byte{1};
  theirs[4] = std::byte{2};
  theirs[7] = std::byte{3};
  mine[19999] = std::byte{4};
  const auto came = merge(mine, theirs, before);
  ASSERT_EQ(came.size(), 1u);
  EXPECT_EQ(came[0].first, 4u);
  EXPECT_EQ(came[0].last, 8u);
  EXPECT_EQ(mine, theirs);
  EXPECT_EQ(before, theirs);
  EXPECT_EQ(mine[3], std::byte{1});
  EXPECT_EQ(mine[4], std::byte{2});
  EXPECT_EQ(theirs[19999], std::byte{4});
  EXPECT_TRUE(merge(mine, theirs, before).empty());
}

TEST(Merge, OfWhatBothChangedTheirsStays) {
  Bytes before(8), mine(8, std::byte{1}), theirs(8, std::byte{2});
  const auto came = merge(mine, theirs, before);
  ASSERT_EQ(came.size(), 1u);
  EXPECT_TRUE(came[0] == (Changed{0, 8}));
  EXPECT_THAT(mine, testing::Each(std::byte{2}));
  EXPECT_EQ(mine, before);
}

TEST(Merge, AnyChangesAnywhere) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const std::size_t bytes = 1 + random() % 30000;
    Bytes before(bytes);
    for (auto& one : before) one = std::byte(random());
    Bytes mine = before, theirs = before, expected = before;
    for (int i = 0; i < 40; ++i) {
      const std::size_t at = random() % bytes;
      const auto run = static_cast<std::ptrdiff_t>(std::min<std::size_t>(random() % 300, bytes - at));
      Bytes& side = random() % 2 == 0 ? mine : theirs;
      std::generate_n(side.begin() + static_cast<std::ptrdiff_t>(at), run, [&] { return std::byte(random()); });
    }
    for (std::size_t i = 0; i < bytes; ++i) expected[i] = theirs[i] != before[i] ? theirs[i] : mine[i];
    Bytes gpu = mine;
    for (const Changed& run : merge(mine, theirs, before))
      std::copy(mine.begin() + static_cast<std::ptrdiff_t>(run.first),
                mine.begin() + static_cast<std::ptrdiff_t>(run.last),
                gpu.begin() + static_cast<std::ptrdiff_t>(run.first));
    ASSERT_EQ(gpu, expected);
    ASSERT_EQ(mine, expected);
    ASSERT_EQ(theirs, expected);
    ASSERT_EQ(before, expected);
  }
}

TEST(PublicCopy, GoesBothWays) {
  const auto executor = *device::open_host_executor();
  stage::Gpus gpus(executor);
  stage::PinnedPool host(executor);
  const auto memory = std::move(*executor->allocate(0, 100000));
  std::ranges::fill(std::span(memory.data(), 100000), std::byte{1});
  const auto mirror = PublicCopy::make(gpus, host, memory.data(), 100000, 0);
  ASSERT_TRUE(mirror.ok()) << mirror.status().text();
  auto* const there = static_cast<std::byte*>((*mirror)->data());
  EXPECT_EQ(there[99999], std::byte{1}) << "as the memory is";
  there[5] = std::byte{2};
  memory.data()[6] = std::byte{3};
  ASSERT_TRUE((*mirror)->settle().ok());
  EXPECT_EQ(memory.data()[5], std::byte{2});
  EXPECT_EQ(there[6], std::byte{3});
  memory.data()[5] = std::byte{4};
  ASSERT_TRUE((*mirror)->settle().ok());
  EXPECT_EQ(there[5], std::byte{4}) << "what came before is no change any more";
}

}  // namespace
}  // namespace sennit::shim::mpi
