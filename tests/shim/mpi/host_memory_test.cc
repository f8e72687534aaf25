#include "shim/mpi/host_memory.h"

#include <algorithm>
#include <span>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {
namespace {

using Use = HostMemory::Use;

class HostMemoryTest : public testing::Test {
 protected:
  device::Memory take(std::uint64_t bytes, Use use = Use::certain) {
    auto memory = host_.take(bytes, use);
    EXPECT_TRUE(memory.ok()) << memory.status().text();
    EXPECT_GE(memory->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % 64, 0u);
    return std::move(*memory);
  }
  HostMemory host_{*device::open_host_executor()};
};

TEST_F(HostMemoryTest, ASmallPieceIsKeptForTheNextCall) {
  auto first = take(5000);
  const void* const where = first.data();
  host_.give(std::move(first));
  EXPECT_EQ(take(6000, Use::perhaps).data(), where);
}

TEST_F(HostMemoryTest, AFewOfEachSmallSizeAreKept) {
  constexpr std::size_t kMost = HostMemory::kMostKept;
  std::vector<device::Memory> taken;
  for (std::size_t i = 0; i < kMost + 4; ++i) taken.push_back(take(4096));
  std::vector<const void*> given;
  for (auto& memory : taken) {
    given.push_back(memory.data());
    host_.give(std::move(memory));
  }
  for (std::size_t i = 0; i < kMost; ++i) {
    taken[i] = take(4096);
    EXPECT_EQ(taken[i].data(), given[kMost - 1 - i]);
  }
}

TEST_F(HostMemoryTest, ALargePieceThatIsUsedIsKeptForOnesOfAboutItsSize) {
  auto first = take(HostMemory::kSmall * 3 + 1);
  const void* const where = first.data();
  EXPECT_EQ(first.bytes(), HostMemory::kSmall * 4);
  host_.give(std::move(first));
  auto small_one = take(HostMemory::kSmall + 1);
  EXPECT_EQ(small_one.data(), where) << "twice what is asked for is not too large";
  host_.give(std::move(small_one));
  EXPECT_EQ(take(HostMemory::kSmall * 4).data(), where);
}

TEST_F(HostMemoryTest, AMuchLargerOneIsLeftForOthers) {
  auto large = take(HostMemory::kSmall * 8);
  const void* const where = large.data();
  host_.give(std::move(large));
  const auto other = take(HostMemory::kSmall * 2);
  EXPECT_NE(other.data(), where);
  EXPECT_EQ(other.bytes(), HostMemory::kSmall * 2);
}

TEST_F(HostMemoryTest, OfLargePiecesTheLatestAreKeptUpToALimit) {
  constexpr std::uint64_t kEach = 128 << 20;
  constexpr std::size_t kMost = HostMemory::kMostBytesKept / kEach;
  std::vector<device::Memory> taken;
  for (std::size_t i = 0; i < kMost + 1; ++i) taken.push_back(take(kEach));
  std::vector<const void*> given;
  for (auto& memory : taken) {
    given.push_back(memory.data());
    host_.give(std::move(memory));
  }
  for (std::size_t i = 1; i <= kMost; ++i) EXPECT_EQ(take(kEach).data(), given[i]);
}

TEST_F(HostMemoryTest, WhatMayNeverBeUsedOrIsLongerThanIsPinnedIsFresh) {
  for (const auto& [bytes, use] :
       {std::pair(HostMemory::kSmall + 1, Use::perhaps), std::pair(HostMemory::kLargestPinned + 1, Use::certain)}) {
    auto large = take(bytes, use);
    EXPECT_EQ(large.bytes(), bytes);
    std::ranges::fill(std::span(large.data(), 4096), std::byte{9});
    host_.give(std::move(large));
    EXPECT_EQ(take(bytes, use).data()[0], std::byte{0}) << "fresh from the system";
  }
}

}  // namespace
}  // namespace sennit::shim::mpi
