#include "stage/pinned_pool.h"

#include <algorithm>
#include <set>
#include <span>

#include <gtest/gtest.h>

namespace sennit::stage {
namespace {

using Use = PinnedPool::Use;

class PinnedPoolTest : public testing::Test {
 protected:
  device::Memory take(std::uint64_t bytes, Use use = Use::certain) {
    auto memory = host_.acquire(bytes, use);
    EXPECT_TRUE(memory.ok()) << memory.status().text();
    EXPECT_GE(memory->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % 64, 0u);
    return std::move(*memory);
  }
  PinnedPool host_{*device::open_host_executor()};
};

constexpr std::uint64_t kMany = 4 << 20;

TEST_F(PinnedPoolTest, APieceIsKeptForTheNextCall) {
  for (const std::uint64_t bytes : {std::uint64_t{5000}, kMany, 3 * kMany + 1}) {
    auto first = take(bytes);
    const void* const where = first.data();
    host_.release(std::move(first));
    EXPECT_EQ(take(bytes - 100).data(), where) << bytes;
  }
}

TEST_F(PinnedPoolTest, WhatIsOnItsWayIsKeptWholeAWindowLong) {
  std::vector<device::Memory> taken;
  for (int i = 0; i < 64; ++i) taken.push_back(take(kMany, Use::perhaps));
  std::set<const void*> given;
  for (auto& memory : taken) {
    given.insert(memory.data());
    host_.release(std::move(memory));
  }
  for (auto& memory : taken) {
    memory = take(kMany, Use::perhaps);
    EXPECT_TRUE(given.contains(memory.data()));
  }
}

TEST_F(PinnedPoolTest, ALongerOneServesUpToTwice) {
  auto first = take(3 * kMany + 1);
  const void* const where = first.data();
  EXPECT_EQ(first.bytes(), 4 * kMany);
  host_.release(std::move(first));
  auto shorter = take(kMany + 1);
  EXPECT_EQ(shorter.data(), where);
  host_.release(std::move(shorter));
  const auto other = take(kMany);
  EXPECT_NE(other.data(), where) << "four times as long is left for others";
}

TEST_F(PinnedPoolTest, NoMoreIsKeptThanTheLimit) {
  constexpr std::uint64_t kEach = 128 << 20;
  constexpr std::size_t kMost = PinnedPool::kMostKept / kEach;
  std::vector<device::Memory> taken;
  for (std::size_t i = 0; i < kMost + 1; ++i) taken.push_back(take(kEach));
  const void* const last = taken.back().data();
  std::set<const void*> given;
  for (auto& memory : taken) {
    given.insert(memory.data());
    host_.release(std::move(memory));
  }
  given.erase(last);
  std::vector<device::Memory> again;
  for (std::size_t i = 0; i < kMost; ++i) {
    again.push_back(take(kEach));
    EXPECT_TRUE(given.contains(again.back().data()));
  }
}

TEST_F(PinnedPoolTest, WhatMayNeverBeUsedOrIsLongerThanIsPinnedIsFresh) {
  for (const auto& [bytes, use] : {std::pair(PinnedPool::kLargestPerhaps + 1, Use::perhaps),
                                   std::pair(PinnedPool::kLargest + 1, Use::certain)}) {
    auto large = take(bytes, use);
    EXPECT_EQ(large.bytes(), bytes);
    std::ranges::fill(std::span(large.data(), 4096), std::byte{9});
    host_.release(std::move(large));
    EXPECT_EQ(take(bytes, use).data()[0], std::byte{0}) << "fresh from the system";
  }
}

TEST_F(PinnedPoolTest, WhatWasHardlyWrittenToIsKept) {
  constexpr std::uint64_t kLong = PinnedPool::kLargestPerhaps + 5000;
  std::vector<device::Memory> taken;
  for (std::size_t i = 0; i < PinnedPool::kMostHardlyWritten + 1; ++i) taken.push_back(take(kLong, Use::perhaps));
  std::set<const void*> given;
  for (auto& memory : taken) {
    EXPECT_FALSE(host_.is_pinned(memory));
    std::ranges::fill(std::span(memory.data(), 4096), std::byte{9});
    if (given.size() < PinnedPool::kMostHardlyWritten) given.insert(memory.data());
    host_.release(std::move(memory), 4096);
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    taken[i] = take(kLong - 1000, Use::perhaps);
    EXPECT_TRUE(given.contains(taken[i].data())) << i;
    EXPECT_FALSE(host_.is_pinned(taken[i]));
  }
  EXPECT_EQ(take(kLong, Use::perhaps).data()[0], std::byte{0}) << "one more than are kept";
  host_.release(std::move(taken[0]), PinnedPool::kHardly + 1);
  EXPECT_EQ(take(kLong - 1000, Use::perhaps).data()[0], std::byte{0});
}

}  // namespace
}  // namespace sennit::stage
