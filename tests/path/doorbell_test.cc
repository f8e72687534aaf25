#include "path/doorbell.h"

#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

namespace sennit::path {
namespace {

/// What Proxy does with one client, where a semaphore wakes.
struct Side {
  comm::DoorbellSlot slot{};
  Doorbell doorbell{slot};
  std::binary_semaphore woken{0};
  std::atomic<int> asked{0};

  void ask(int round) {
    asked = round;
    if (doorbell.ring()) woken.release();
  }
  void wait_for(int round) {
    for (;;) {
      const std::uint64_t heard = doorbell.heard();
      if (asked.load() >= round) return;
      if (doorbell.may_sleep(heard)) {
        ASSERT_TRUE(woken.try_acquire_for(std::chrono::seconds(20))) << "slept through a ring";
      }
      doorbell.wake();
      (void)woken.try_acquire();
    }
  }
};

TEST(Doorbell, WakesItsOwnerEveryTime) {
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

TEST(Doorbell, KeepsItsOwnerAwakeAfterARingThatCameFirst) {
  comm::DoorbellSlot slot{};
  Doorbell doorbell(slot);
  const std::uint64_t heard = doorbell.heard();
  EXPECT_FALSE(doorbell.ring()) << "its owner is awake";
  EXPECT_FALSE(doorbell.may_sleep(heard));
  doorbell.wake();
  EXPECT_TRUE(doorbell.may_sleep(doorbell.heard()));
  EXPECT_TRUE(doorbell.ring());
}

}  // namespace
}  // namespace sennit::path
