#include "device/host/lane.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "base/other_processes.h"
#include "device/executor.h"
#include "device/launch.h"

namespace sennit::device {

/// Every block waits for all others: proves that the blocks of a launch run at the same time.
struct Meet {
  static constexpr const char* kName = "meet";
  Word* arrived;
  template <class Block>
  void operator()(Block& block) const {
    block.signal(arrived + block.index() * kWordStride, 1);
    for (unsigned b = 0; b < block.count(); ++b)
      if (!block.await(arrived + b * kWordStride, 1, b)) return;
  }
};

namespace {

class HostLaneTest : public testing::Test {
 protected:
  void SetUp() override {
    executor = *open_host_executor();
    executor->set_timeout(std::chrono::seconds(10));
  }
  std::unique_ptr<Lane> lane(int device) { return std::move(*executor->lane(device)); }
  std::shared_ptr<Executor> executor;
};

TEST_F(HostLaneTest, KeepsItsOrder) {
  std::vector<int> a(1000), b(1000), c(1000);
  std::iota(a.begin(), a.end(), 0);
  auto one = lane(0);
  ASSERT_TRUE(one->copy(b.data(), a.data(), 4000).ok());
  ASSERT_TRUE(one->copy(c.data(), b.data(), 4000).ok());
  ASSERT_TRUE(one->synchronize().ok());
  EXPECT_EQ(c, a);
  EXPECT_TRUE(*one->idle());
}

TEST_F(HostLaneTest, WhoSeesASignalSeesWhatWasBefore) {
  std::vector<int> from(1 << 16, 7), to(1 << 16, 0);
  Word told = 0;
  auto one = lane(0);
  for (Word number = 1; number <= 50; ++number) {
    from.assign(from.size(), static_cast<int>(number));
    ASSERT_TRUE(one->copy(to.data(), from.data(), from.size() * sizeof(int)).ok());
    ASSERT_TRUE(one->signal(&told, number).ok());
    while (std::atomic_ref(told).load(std::memory_order_acquire) != number) std::this_thread::yield();
    heard_others();
    ASSERT_EQ(to, from);
  }
}

TEST_F(HostLaneTest, EventsOrderLanes) {
  std::vector<int> buffer(1 << 16, 0);
  std::vector<int> ones(1 << 16, 1), seen(1 << 16, 5);
  auto first = lane(0), second = lane(1);
  auto event = std::move(*executor->event(0));
  ASSERT_TRUE(first->copy(buffer.data(), ones.data(), ones.size() * 4).ok());
  ASSERT_TRUE(first->record(*event).ok());
  ASSERT_TRUE(second->wait(*event).ok());
  ASSERT_TRUE(second->copy(seen.data(), buffer.data(), seen.size() * 4).ok());
  ASSERT_TRUE(second->synchronize().ok());
  EXPECT_EQ(seen, ones);
  EXPECT_TRUE(*event->done());
}

TEST_F(HostLaneTest, WaitingForAnEventNeverRecordedDoesNotBlock) {
  auto one = lane(0);
  auto event = std::move(*executor->event(0));
  ASSERT_TRUE(one->wait(*event).ok());
  EXPECT_TRUE(one->synchronize().ok());
}

TEST_F(HostLaneTest, AnEventMayDieBeforeItsWaiters) {
  auto one = lane(0), two = lane(0);
  {
    auto event = std::move(*executor->event(0));
    ASSERT_TRUE(one->record(*event).ok());
    ASSERT_TRUE(two->wait(*event).ok());
  }
  EXPECT_TRUE(two->synchronize().ok());
}

TEST_F(HostLaneTest, BlocksOfALaunchRunTogether) {
  std::vector<Word> words(16 * kWordStride, 0);
  auto one = lane(0);
  ASSERT_TRUE(launch(*one, Meet{words.data()}, 16).ok());
  EXPECT_TRUE(one->synchronize().ok());
}

TEST_F(HostLaneTest, SynchronizeReportsABlockThatGaveUp) {
  executor->set_timeout(std::chrono::milliseconds(30));
  auto one = lane(0);
  Word never = 0;
  const Program alone{
      "alone", sizeof(Word*),
      [](HostBlock& block, const void* arguments) { (void)block.await(*static_cast<Word* const*>(arguments), 1, 3); },
      nullptr, nullptr};
  Word* word = &never;
  ASSERT_TRUE(one->launch(alone, &word, 1, device::kBlockThreads).ok());
  const Status status = one->synchronize();
  EXPECT_EQ(status.code(), Code::timed_out);
  EXPECT_NE(status.text().find("wait 3"), std::string::npos) << status.text();
}

}  // namespace
}  // namespace sennit::device
