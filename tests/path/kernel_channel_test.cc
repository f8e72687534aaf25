#include "path/kernel_channel.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sennit::path {
namespace {

TEST(KernelChannel, CarriesMessagesInOrder) {
  auto executor = *device::open_host_executor();
  auto channel = KernelChannel::create(*executor, 0, 1, {4, 4, 4096});
  ASSERT_TRUE(channel.ok());
  auto src = std::move(*executor->allocate(0, 300'000));
  auto dst = std::move(*executor->allocate(1, 300'000));
  auto lane = std::move(*executor->lane(0));
  for (std::uint64_t i = 0; i < 300'000; ++i) src.data()[i] = std::byte((i * 31 + i / 1021) & 0xFF);
  std::memset(dst.data(), 0, 300'000);
  // Back to back, without waiting in between: the ring is shared by all three.
  const End from = End::local(src.data(), 0), to = End::local(dst.data(), 1);
  ASSERT_TRUE((*channel)->run(to, from, 100'000, 4, 4096, nullptr).ok());
  ASSERT_TRUE((*channel)->run(to + 100'000, from + 100'000, 1, 2, 1024, nullptr).ok());
  ASSERT_TRUE((*channel)->run(to + 100'001, from + 100'001, 199'999, 3, 512, nullptr).ok());
  ASSERT_TRUE((*channel)->join(*lane).ok());
  ASSERT_TRUE(lane->synchronize().ok());
  EXPECT_EQ(std::memcmp(src.data(), dst.data(), 300'000), 0);
}

TEST(KernelChannel, EndsAfterTheProgramsItStarted) {
  constexpr std::uint64_t kBytes = 1 << 20;
  auto executor = *device::open_host_executor();
  auto src = std::move(*executor->allocate(0, kBytes));
  auto dst = std::move(*executor->allocate(1, kBytes));
  std::memset(src.data(), 7, kBytes);
  for (int round = 0; round < 20; ++round) {
    std::memset(dst.data(), 0, kBytes);
    auto channel = std::move(*KernelChannel::create(*executor, 0, 1, {2, 4, 4096}));
    ASSERT_TRUE(channel->run(End::local(dst.data(), 1), End::local(src.data(), 0), kBytes, 2, 4096, nullptr).ok());
    channel.reset();
    ASSERT_EQ(std::memcmp(src.data(), dst.data(), kBytes), 0);
  }
}

TEST(KernelChannel, WaitsForTheFork) {
  auto executor = *device::open_host_executor();
  auto channel = std::move(*KernelChannel::create(*executor, 0, 1, {2, 4, 1024}));
  auto first = std::move(*executor->allocate(0, 8192));
  auto src = std::move(*executor->allocate(0, 8192));
  auto dst = std::move(*executor->allocate(1, 8192));
  std::memset(first.data(), 5, 8192);
  std::memset(src.data(), 1, 8192);
  auto lane = std::move(*executor->lane(0));
  auto fork = std::move(*executor->event(0));
  ASSERT_TRUE(lane->copy(src.data(), first.data(), 8192).ok());
  ASSERT_TRUE(lane->record(*fork).ok());
  ASSERT_TRUE(channel->run(End::local(dst.data(), 1), End::local(src.data(), 0), 8192, 2, 1024, fork.get()).ok());
  ASSERT_TRUE(channel->join(*lane).ok());
  ASSERT_TRUE(lane->synchronize().ok());
  EXPECT_EQ(std::memcmp(first.data(), dst.data(), 8192), 0);
}

TEST(Fit, CutsToTheRing) {
  const RingShape shape{8, 4, 65536};
  EXPECT_EQ(fit(shape, 99, 1 << 20).blocks, 8u);
  EXPECT_EQ(fit(shape, 99, 1 << 20).chunk, 65536u);
  EXPECT_EQ(fit(shape, 0, 0).blocks, 8u);
  EXPECT_EQ(fit(shape, 3, 1000).chunk, 992u);
}

}  // namespace
}  // namespace sennit::path
