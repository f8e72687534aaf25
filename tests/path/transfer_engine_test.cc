// Whole messages over forced splits, on the host executor: what users get, byte for byte.
#include "path/transfer_engine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "gate.h"
#include "machines.h"

namespace sennit::path {
namespace {

class TransferEngineTest : public testing::Test {
 protected:
  void SetUp() override {
    executor = *device::open_host_executor();
    executor->set_timeout(std::chrono::seconds(20));
    transfer_engine = std::move(*TransferEngine::create(executor, machine_of_the_host_executor(), {}));
  }

  /// As carry(), over exactly this many routes.
  void carry_over(std::size_t routes, int from, int to, std::uint64_t bytes, std::uint64_t skew = 0) {
    auto split = transfer_engine->plans().split_of(to, from, bytes);
    ASSERT_TRUE(split.ok()) << split.status().text();
    ASSERT_EQ(split->shares.size(), routes);
    carry(from, to, bytes, skew);
  }

  void carry(int from, int to, std::uint64_t bytes, std::uint64_t skew = 0) {
    auto src =
        std::move(from == kHost ? *executor->allocate_pinned(bytes + 64) : *executor->allocate(from, bytes + 64));
    auto dst = std::move(to == kHost ? *executor->allocate_pinned(bytes + 64) : *executor->allocate(to, bytes + 64));
    for (std::uint64_t i = 0; i < bytes + 64; ++i) src.data()[i] = std::byte((i * 11 + i / 1013) & 0xFF);
    std::memset(dst.data(), 0xEE, bytes + 64);
    auto lane = std::move(*executor->lane(std::max(from, 0)));
    ASSERT_TRUE(transfer_engine
                    ->copy(End::local(dst.data() + skew, to), End::local(src.data() + skew / 2, from), bytes, *lane)
                    .ok());
    ASSERT_TRUE(lane->synchronize().ok());
    EXPECT_EQ(std::memcmp(dst.data() + skew, src.data() + skew / 2, bytes), 0);
    for (std::uint64_t i = 0; i < skew; ++i) EXPECT_EQ(dst.data()[i], std::byte(0xEE)) << "byte before the message";
    for (std::uint64_t i = skew + bytes; i < bytes + 64; ++i)
      ASSERT_EQ(dst.data()[i], std::byte(0xEE)) << "byte after the message";
  }

  std::shared_ptr<device::Executor> executor;
  std::unique_ptr<TransferEngine> transfer_engine;
};

TEST_F(TransferEngineTest, AsksThePeerToMoveWhatItsDevicesEnginesCannotReach) {
  int asked = 0;
  TransferEngine::Options options;
  options.proxy_channel = [&](int peer, Direction direction, RingShape) -> Result<ProxyChannel*> {
    EXPECT_EQ(peer, 1);
    EXPECT_EQ(direction, Direction::put);
    ++asked;
    return Status(Code::unsupported, "a test has no peer");
  };
  transfer_engine = std::move(*TransferEngine::create(executor, machine_of_the_host_executor(), std::move(options)));
  constexpr std::uint64_t kBytes = 64 << 20;
  auto src = std::move(*executor->allocate(0, kBytes)), dst = std::move(*executor->allocate(1, kBytes));
  std::memset(src.data(), 7, kBytes);
  auto lane = std::move(*executor->lane(0));
  End there{.data = dst.data(), .device = 1, .rank = 1};
  for (const bool mapped : {true, false}) {
    transfer_engine->plans().force({{"direct", 0.9}, {"host0 (engine)", 0.1}});
    there.at_owner = mapped ? dst.data() : nullptr;
    std::memset(dst.data(), 0, kBytes);
    ASSERT_TRUE(transfer_engine->copy(there, End::local(src.data(), 0), kBytes, *lane).ok());
    ASSERT_TRUE(lane->synchronize().ok());
    EXPECT_EQ(std::memcmp(dst.data(), src.data(), kBytes), 0) << "what has no other way goes direct";
    EXPECT_EQ(asked, mapped ? 0 : 1);
  }
}

TEST_F(TransferEngineTest, CarriesOverDirectAndHostByKernels) {
  transfer_engine->plans().force({{"direct", 0.7}, {"host0 (sm)", 0.3}});
  for (const std::uint64_t bytes : {4097ull, 1ull << 20, (3ull << 20) + 5}) carry(0, 1, bytes);
  carry_over(2, 0, 1, 3 << 20);
  carry_over(2, 2, 3, 1 << 20, 14);
}

TEST_F(TransferEngineTest, CarriesOverDirectAndHostByEngines) {
  transfer_engine->plans().force({{"direct", 0.6}, {"host0 (engine)", 0.4}});
  carry_over(2, 0, 1, (6 << 20) + 3);
  carry(0, 1, 8192, 6);
}

TEST_F(TransferEngineTest, CarriesOverRelays) {
  transfer_engine->plans().force({{"direct", 0.5}, {"gpu2 (engine)", 0.25}, {"gpu3 (engine)", 0.25}});
  carry_over(3, 0, 1, 9 << 20);
}

TEST_F(TransferEngineTest, CarriesFromAndToTheHostOverAllLinks) {
  transfer_engine->plans().force(
      {{"direct", 0.25}, {"gpu1 (engine)", 0.25}, {"gpu2 (engine)", 0.25}, {"gpu3 (engine)", 0.25}});
  carry_over(4, kHost, 0, (16 << 20) + 9);
  carry_over(4, 0, kHost, 16 << 20);
}

TEST_F(TransferEngineTest, KeepsToTheOneRouteAskedFor) {
  transfer_engine->plans().force({{"host0 (sm)", 1.0}});
  carry_over(1, 0, 1, 1 << 20);
  auto split = transfer_engine->plans().split_of(1, 0, 1 << 20);
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(split->shares[0].candidate.route.name(), "host0 (sm)");
  TransferEngine::Options options;
  options.splits.forced = {{"host0 (sm)", 1.0}};
  options.staging_bytes = 0;  // the staged route cannot be set up: the direct path stays
  transfer_engine = std::move(*TransferEngine::create(executor, machine_of_the_host_executor(), options));
  carry(0, 1, 1 << 20);
}

TEST_F(TransferEngineTest, StreamsDoNotWaitForEachOther) {
  constexpr std::uint64_t kBytes = 3 << 20;
  for (const char* route : {"host0 (sm)", "host0 (engine)", "gpu2 (engine)"}) {
    transfer_engine->plans().force({{"direct", 0.5}, {route, 0.5}});
    auto src = std::move(*executor->allocate(0, kBytes)), dst = std::move(*executor->allocate(1, 2 * kBytes));
    std::memset(src.data(), 7, kBytes);
    std::memset(dst.data(), 0, 2 * kBytes);
    auto held = std::move(*executor->lane(0)), free = std::move(*executor->lane(0));
    Gate gate(*executor);
    ASSERT_TRUE(gate.shut(*held).ok());
    ASSERT_TRUE(transfer_engine->copy(End::local(dst.data(), 1), End::local(src.data(), 0), kBytes, *held).ok());
    // Whoever opens the gate may well be waiting for this one.
    ASSERT_TRUE(
        transfer_engine->copy(End::local(dst.data() + kBytes, 1), End::local(src.data(), 0), kBytes, *free).ok());
    ASSERT_TRUE(free->synchronize().ok()) << route;
    EXPECT_EQ(std::memcmp(dst.data() + kBytes, src.data(), kBytes), 0) << route;
    EXPECT_EQ(dst.data()[kBytes - 1], std::byte(0)) << route;
    gate.open();
    ASSERT_TRUE(held->synchronize().ok());
    EXPECT_EQ(std::memcmp(dst.data(), src.data(), kBytes), 0) << route;
  }
}

TEST_F(TransferEngineTest, ALargerMessageDoesNotWaitForTheChannelOfAnother) {
  constexpr std::uint64_t kSmall = 1 << 20, kLarge = 24 << 20;
  for (const char* route : {"host0 (sm)", "host0 (engine)"}) {
    transfer_engine->plans().force({{"direct", 0.5}, {route, 0.5}});
    auto src = std::move(*executor->allocate(0, kLarge)), dst = std::move(*executor->allocate(1, kLarge + kSmall));
    std::memset(src.data(), 5, kLarge);
    auto held = std::move(*executor->lane(0)), free = std::move(*executor->lane(0));
    Gate gate(*executor);
    ASSERT_TRUE(gate.shut(*held).ok());
    ASSERT_TRUE(
        transfer_engine->copy(End::local(dst.data() + kLarge, 1), End::local(src.data(), 0), kSmall, *held).ok());
    ASSERT_TRUE(transfer_engine->copy(End::local(dst.data(), 1), End::local(src.data(), 0), kLarge, *free).ok());
    ASSERT_TRUE(free->synchronize().ok()) << route;
    EXPECT_EQ(std::memcmp(dst.data(), src.data(), kLarge), 0) << route;
    gate.open();
    ASSERT_TRUE(held->synchronize().ok());
  }
}

TEST_F(TransferEngineTest, TakesOnePathUntilTunedButWhatIsAskedFor) {
  TransferEngine::Options options;
  options.splits.single = true;
  transfer_engine = std::move(*TransferEngine::create(executor, machine_of_the_host_executor(), options));
  EXPECT_EQ(transfer_engine->plans().least_split(1, 0), ~std::uint64_t{0});
  carry(0, 1, 1 << 20);
  transfer_engine->plans().force({{"direct", 0.5}, {"host0 (sm)", 0.5}});
  EXPECT_LE(transfer_engine->plans().least_split(1, 0), 1u);
  carry_over(2, 0, 1, 1 << 20);
}

TEST_F(TransferEngineTest, CarriesNothingAndWithinADevice) {
  carry(0, 1, 0);
  carry(1, 1, 12345);
  carry(kHost, kHost, 12345);
}

TEST_F(TransferEngineTest, StaysRightWhenStagingMayNotTakeMemory) {
  TransferEngine::Options options;
  options.staging_bytes = 1024;
  options.splits.forced = {{"direct", 0.5}, {"host0 (sm)", 0.5}};
  transfer_engine = std::move(*TransferEngine::create(executor, machine_of_the_host_executor(), options));
  carry_over(2, 0, 1, 1 << 20);
}

TEST_F(TransferEngineTest, KeepsTheOrderOfTheLane) {
  transfer_engine->plans().force({{"direct", 0.5}, {"host0 (sm)", 0.5}});
  constexpr std::uint64_t kBytes = 1 << 20;
  auto a = std::move(*executor->allocate(0, kBytes)), b = std::move(*executor->allocate(1, kBytes));
  auto c = std::move(*executor->allocate(0, kBytes));
  auto lane = std::move(*executor->lane(0));
  for (int round = 1; round <= 5; ++round) {
    std::memset(a.data(), round, kBytes);
    ASSERT_TRUE(transfer_engine->copy(End::local(b.data(), 1), End::local(a.data(), 0), kBytes, *lane).ok());
    ASSERT_TRUE(transfer_engine->copy(End::local(c.data(), 0), End::local(b.data(), 1), kBytes, *lane).ok());
    ASSERT_TRUE(lane->synchronize().ok());
    ASSERT_EQ(std::memcmp(a.data(), c.data(), kBytes), 0);
  }
}

TEST_F(TransferEngineTest, ServesSeveralThreadsAtOnce) {
  transfer_engine->plans().force({{"direct", 0.5}, {"host0 (sm)", 0.5}});
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) carry_over(2, 0, 1, (256 << 10) + static_cast<std::uint64_t>(t) * 1000);
    });
}

}  // namespace
}  // namespace sennit::path
