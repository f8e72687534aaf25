#include "path/bell.h"

#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

namespace sennit::path {
namespace {

/// What Proxy does with one client, where a semaphore wakes.
struct Side {
  comm::DoorbellSlot slot{};
  Bell bell{slot};
  std::binary_semaphore woken{0};
  std::atomic<int> asked{0};

  void ask(int round) {
    asked = round;
    if (bell.ring()) woken.release();
  }
  void wait_for(int round) {
    for (;;) {
      const std::uint64_t heard = bell.heard();
      if (asked.load() >= round) return;
      if (bell.may_sleep(heard)) {
        ASSERT_TRUE(woken.try_acquire_for(std::chrono::seconds(20))) << "slept through a ring";
      }
      bell.wake();
      (void)woken.try_acquire();
    }
  }
};

TEST(Bell, WakesItsOwnerEveryTime) {
  constexpr int kRounds = 5000;
  Side here, there;
  std::jthread other([&] {
    for (int round = 1; round <= kRounds; ++round) {
      there.wait_for(round);
      here.ask(round);
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    there.ask(round);
    here.wait_for(round);
  }
}

TEST(Bell, KeepsItsOwnerAwakeAfterARingThatCameFirst) {
  comm::DoorbellSlot slot{};
  Bell bell(slot);
  const std::uint64_t heard = bell.heard();
  EXPECT_FALSE(bell.ring()) << "its owner is awake";
  EXPECT_FALSE(bell.may_sleep(heard));
  bell.wake();
  EXPECT_TRUE(bell.may_sleep(bell.heard()));
  EXPECT_TRUE(bell.ring());
}

}  // namespace
}  // namespace sennit::path
