#include "path/engine_channel.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sennit::path {
namespace {

TEST(NextChunk, GrowsAndShrinksAndCoversTheMessage) {
  for (const std::uint64_t bytes : {1ull, 100ull << 10, 1ull << 20, 5ull << 20, (64ull << 20) + 12345, 1ull << 30}) {
    std::uint64_t done = 0, before = 0, first = 0, last = 0;
    while (done < bytes) {
      const std::uint64_t size = next_chunk(bytes, done, before, 8 << 20);
      ASSERT_GT(size, 0u);
      ASSERT_LE(size, bytes - done);
      ASSERT_LE(size, 8u << 20);
      if (before != 0 && size > before) {
        EXPECT_LE(size, 2 * before);
      }
      if (first == 0) first = size;
      done += size;
      before = last = size;
    }
    EXPECT_LE(first, kFirstChunk);
    EXPECT_LE(last, 2 * kFirstChunk);
  }
}

TEST(NextChunk, NeverExceedsASmallLimit) {
  EXPECT_EQ(next_chunk(1 << 20, 0, 0, 4096), 4096u);
}

class EngineChannelTest : public testing::Test {
 protected:
  void SetUp() override { executor = *device::open_host_executor(); }

  void carry(std::vector<int> stops, std::uint64_t slot, std::uint64_t bytes) {
    auto src = std::move(*executor->allocate(std::max(stops.front(), 0), bytes));
    auto dst = std::move(*executor->allocate(std::max(stops.back(), 0), bytes));
    auto channel = EngineChannel::create(*executor, stops, slot, 4);
    ASSERT_TRUE(channel.ok());
    auto lane = std::move(*executor->lane(0));
    for (int round = 0; round < 3; ++round) {
      for (std::uint64_t i = 0; i < bytes; ++i) src.data()[i] = std::byte((i * 7 + i / 509 + unsigned(round)) & 0xFF);
      std::memset(dst.data(), 0xEE, bytes);
      ASSERT_TRUE((*channel)
                      ->start(End::local(dst.data(), stops.back()), End::local(src.data(), stops.front()), bytes,
                              slot, nullptr)
                      .ok());
      while (!(*channel)->finished()) ASSERT_TRUE((*channel)->step().ok());
      ASSERT_TRUE((*channel)->join(*lane).ok());
      ASSERT_TRUE(lane->synchronize().ok());
      ASSERT_EQ(std::memcmp(src.data(), dst.data(), bytes), 0) << "round " << round;
    }
  }
  std::shared_ptr<device::Executor> executor;
};

TEST_F(EngineChannelTest, EndsAfterTheCopiesItStarted) {
  constexpr std::uint64_t kBytes = 4 << 20;
  auto src = std::move(*executor->allocate(0, kBytes));
  auto dst = std::move(*executor->allocate(1, kBytes));
  std::memset(src.data(), 7, kBytes);
  for (int round = 0; round < 20; ++round) {
    std::memset(dst.data(), 0, kBytes);
    auto channel = std::move(*EngineChannel::create(*executor, {0, kHost, 1}, 256 << 10, 4));
    ASSERT_TRUE(
        channel->start(End::local(dst.data(), 1), End::local(src.data(), 0), kBytes, 256 << 10, nullptr).ok());
    while (!channel->finished()) ASSERT_TRUE(channel->step().ok());
    channel.reset();
    ASSERT_EQ(std::memcmp(src.data(), dst.data(), kBytes), 0);
  }
}

TEST_F(EngineChannelTest, StagesThroughTheHost) {
  carry({0, kHost, 1}, 4096, 100'000);
}
TEST_F(EngineChannelTest, RelaysThroughADevice) {
  carry({0, 2, 1}, 64 << 10, (3 << 20) + 7);
}
TEST_F(EngineChannelTest, RelaysThroughTwoDevices) {
  carry({0, 2, 3, 1}, 1000, 77'777);
}
TEST_F(EngineChannelTest, RelaysFromTheHost) {
  carry({kHost, 3, 1}, 1 << 20, 9 << 20);
}
TEST_F(EngineChannelTest, RelaysToTheHost) {
  carry({0, 3, kHost}, 1 << 20, 5);
}
TEST_F(EngineChannelTest, CarriesADirectShareInOneChunk) {
  carry({0, 1}, ~0ull, 123'457);
}

}  // namespace
}  // namespace sennit::path
