#include "path/bell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace sennit::path {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Bell, WakesItsOwnerEveryTime) {
  // Each side answers the other's ring; one ring that wakes nobody costs the limit of a wait.
  constexpr int kRounds = 5000;
  constexpr auto kLimit = seconds(20);
  comm::DoorbellSlot here{}, there{};
  std::atomic<int> asked{0}, answered{0};
  const auto start = Clock::now();
  std::jthread other([&] {
    Bell mine(there), theirs(here);
    for (int round = 1; round <= kRounds; ++round) {
      for (std::uint32_t heard = mine.heard(); asked.load() < round; heard = mine.heard()) mine.wait(heard, kLimit);
      answered = round;
      theirs.ring();
    }
  });
  Bell mine(here), theirs(there);
  for (int round = 1; round <= kRounds; ++round) {
    asked = round;
    theirs.ring();
    for (std::uint32_t heard = mine.heard(); answered.load() < round; heard = mine.heard()) mine.wait(heard, kLimit);
  }
  EXPECT_LT(Clock::now() - start, kLimit);
}

TEST(Bell, DoesNotSleepThroughARingThatCameFirst) {
  comm::DoorbellSlot slot{};
  Bell bell(slot);
  const std::uint32_t heard = bell.heard();
  bell.ring();
  const auto start = Clock::now();
  bell.wait(heard, seconds(20));
  EXPECT_LT(Clock::now() - start, seconds(10));
}

TEST(Bell, WakesByItselfAtTheLimit) {
  comm::DoorbellSlot slot{};
  Bell bell(slot);
  const auto start = Clock::now();
  bell.wait(bell.heard(), milliseconds(20));
  EXPECT_GE(Clock::now() - start, milliseconds(19));
}

}  // namespace
}  // namespace sennit::path
