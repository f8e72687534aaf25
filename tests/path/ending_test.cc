#include "path/ending.h"

#include <gtest/gtest.h>

#include "device/launch.h"

namespace sennit::path {

/// Waits for a word that nobody writes but the test.
struct WaitsForWord {
  static constexpr const char* kName = "waits for a word";
  device::Word* word;
  template <class Block>
  void operator()(Block& block) const {
    (void)block.await(word, 1, 0);
  }
};

}  // namespace sennit::path

template <>
const void* sennit::device::cuda_entry<sennit::path::WaitsForWord>() {
  return nullptr;
}

namespace sennit::path {
namespace {

const Status kLost(Code::peer_lost, "rank 1 died"), kAborted(Code::aborted, "rank 1 aborted");

struct EndingTest : testing::Test {
  std::shared_ptr<device::Executor> executor = *device::open_host_executor();
  std::unique_ptr<device::Lane> lane = std::move(*executor->lane(0));
  device::Word word = 0;

  void SetUp() override {
    executor->set_timeout(std::chrono::seconds(60));
    ASSERT_TRUE(device::launch(*lane, WaitsForWord{&word}, 1).ok());
  }
};

TEST_F(EndingTest, AnAbortEndsWhatWaitsAtOnce) {
  Ending ending(executor, std::chrono::hours(1));
  ending.begin(kAborted);
  EXPECT_EQ(lane->synchronize().code(), Code::aborted);
}

TEST_F(EndingTest, WithoutPatienceSoDoesADeath) {
  Ending ending(executor, {});
  ending.begin(kLost);
  EXPECT_EQ(lane->synchronize().code(), Code::aborted);
}

TEST_F(EndingTest, WithPatienceItMayStillEndWell) {
  Ending ending(executor, std::chrono::hours(1));
  ending.begin(kLost);
  std::atomic_ref(word).store(1, std::memory_order_release);
  EXPECT_TRUE(lane->synchronize().ok());
}

TEST_F(EndingTest, AndIsEndedWhenPatienceIsOver) {
  Ending ending(executor, std::chrono::milliseconds(20));
  ending.begin(kLost);
  EXPECT_EQ(lane->synchronize().code(), Code::aborted);
}

}  // namespace
}  // namespace sennit::path
