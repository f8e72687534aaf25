// Both sides of a proxy channel in one process: ranks are threads. Between processes: tests/capi and tests/process.
#include "path/proxy_channel.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "comm/thread_exchange.h"
#include "gate.h"

namespace sennit::path {
namespace {

constexpr RingShape kErrandShape{2, 4, 1024};
constexpr std::uint64_t kErrandBytes = 100'000;

/// Rank 0 asks, rank 1 serves window 7: kErrandBytes of its device 1.
struct ProxyChannels : testing::Test {
  comm::Table table{2};
  std::array<std::unique_ptr<comm::Group>, 2> groups;
  std::array<std::shared_ptr<device::Executor>, 2> executors = {*device::open_host_executor(),
                                                                *device::open_host_executor()};
  device::Memory here, there;
  std::unique_ptr<ProxyService> service;
  std::unique_ptr<device::Lane> lane;
  EventPool events;

  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "two mappings of one ring are two memories to ThreadSanitizer: see tests/capi for processes";
#endif
    comm::on_ranks(2, [&](int rank) {
      auto group = comm::Group::create(std::make_unique<comm::ThreadExchange>(table, rank), std::chrono::seconds(20));
      ASSERT_TRUE(group.ok()) << group.status().text();
      groups[std::size_t(rank)] = std::move(*group);
    });
    here = std::move(*executors[0]->allocate(0, kErrandBytes));
    there = std::move(*executors[1]->allocate(1, kErrandBytes));
    lane = std::move(*executors[0]->lane(0));
    for (std::uint64_t i = 0; i < kErrandBytes; ++i) here.data()[i] = std::byte((i * 13 + i / 251) & 0xFF);
    std::memset(there.data(), 0, kErrandBytes);
  }
  void serve() {
    service = *ProxyService::create(
        *executors[1], *groups[1], 1,
        [this](std::uint32_t window, std::uint64_t offset, std::uint64_t) -> Result<std::byte*> {
          if (window != 7) return Status(Code::not_found, "no such window");
          return there.data() + offset;
        });
  }
  std::unique_ptr<ProxyChannel> proxy_channel(Direction direction) {
    auto made = ProxyChannel::create(*executors[0], *groups[0], 0, 1, direction, kErrandShape);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return std::move(*made);
  }
  /// All of window 7 and `here`, from where `caller` stands; the peer's memory is not mapped.
  ProxyChannel::Message message(device::Lane& caller) {
    End end;
    end.rank = 1;
    end.window = 7;
    end.device = 1;
    auto fork = *events.next(*executors[0], 0);
    EXPECT_TRUE(caller.record(*fork).ok());
    return {end, here.data(), kErrandBytes, 0, 1024, &caller, fork};
  }
  /// Until the service has opened its end.
  SharedEvent send_soon(ProxyChannel& proxy_channel, device::Lane& caller) {
    for (;;) {
      auto sent = proxy_channel.try_send(message(caller));
      EXPECT_TRUE(sent.ok()) << sent.status().text();
      if (!sent.ok() || *sent != nullptr) return sent.ok() ? *sent : nullptr;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void join(const SharedEvent& arrived, device::Lane& caller) {
    ASSERT_NE(arrived, nullptr);
    ASSERT_TRUE(caller.wait(*arrived).ok());
    ASSERT_TRUE(caller.synchronize().ok());
  }
  bool equal() const {
    return std::memcmp(here.data(), there.data(), kErrandBytes) == 0;
  }
};

TEST_F(ProxyChannels, CarryPutsAndGetsOnceThePeerServes) {
  const auto puts = proxy_channel(Direction::put), gets = proxy_channel(Direction::get);
  EXPECT_EQ(*puts->try_send(message(*lane)), nullptr) << "nobody serves yet";
  serve();
  for (int i = 0; i < 5; ++i) {
    here.data()[3] = std::byte(i);
    join(send_soon(*puts, *lane), *lane);
    EXPECT_TRUE(equal()) << "put " << i;
    std::memset(here.data(), 0, kErrandBytes);
    join(send_soon(*gets, *lane), *lane);
    EXPECT_TRUE(equal()) << "get " << i;
  }
}

TEST_F(ProxyChannels, SendWaitsForThePeer) {
  const auto puts = proxy_channel(Direction::put);
  std::jthread later([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    serve();
  });
  auto arrived = puts->send(message(*lane));
  ASSERT_TRUE(arrived.ok()) << arrived.status().text();
  join(*arrived, *lane);
  EXPECT_TRUE(equal());
}

TEST_F(ProxyChannels, AreClosedToAStreamBehindAnothersUnstartedMessage) {
  serve();
  const auto puts = proxy_channel(Direction::put);
  join(send_soon(*puts, *lane), *lane);
  const auto other = std::move(*executors[0]->lane(0));
  Gate gate(*executors[0]);
  ASSERT_TRUE(gate.shut(*lane).ok());
  const SharedEvent held = send_soon(*puts, *lane);
  EXPECT_EQ(*puts->try_send(message(*other)), nullptr);
  gate.open();
  join(held, *lane);
  join(send_soon(*puts, *other), *other);
}

TEST_F(ProxyChannels, AMessageToNoWindowEndsTheGroupNamingIt) {
  serve();
  const auto puts = proxy_channel(Direction::put);
  join(send_soon(*puts, *lane), *lane);
  auto lost = message(*lane);
  lost.there.window = 8;
  executors[0]->set_timeout(std::chrono::seconds(1));
  ASSERT_TRUE(puts->try_send(lost).ok());
  for (int i = 0; i < 5000 && !groups[0]->failed(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_NE(groups[0]->check().text().find("no such window"), std::string::npos) << groups[0]->check().text();
}

}  // namespace
}  // namespace sennit::path
