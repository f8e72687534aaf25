#include "msg/rts_tracker.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sennit::msg {
namespace {

/// Messages of one sender that are alike, by slot, and what this rank knows of them.
struct Alike {
  RtsTracker seen;
  std::vector<RtsTracker::One> under_way;  // of which nobody has told the end

  int left() const {
    return static_cast<int>(std::ranges::count_if(under_way, [&](const auto& one) { return seen.is_left(one); }));
  }
  /// As a matched probe does; false: it would say that the message is the program's own.
  bool take() {
    const auto one = std::ranges::find_if(under_way, [&](const auto& each) { return seen.is_left(each); });
    if (one == under_way.end()) return false;
    seen.take(*one);
    return true;
  }
  void receive(const RtsTracker::One& one, bool matched) {
    seen.receive(one, matched, [&](const auto& visit) { (void)std::ranges::any_of(under_way, visit); });
  }
};

TEST(RtsTracker, AMessageIsLeftUntilItIsReceived) {
  Alike messages{{}, {{3, 1}, {11, 9}}};
  EXPECT_EQ(messages.left(), 2);
  messages.receive({11, 9}, false);
  EXPECT_EQ(messages.left(), 1);
  EXPECT_FALSE(messages.seen.is_left({11, 9}));
  EXPECT_TRUE(messages.seen.is_left({11, 10})) << "the slot's next one";
  messages.receive({3, 1}, false);
  EXPECT_EQ(messages.left(), 0);
}

TEST(RtsTracker, TheFirstOfASlotWhoseUsesWrappedAroundIsLeft) {
  EXPECT_TRUE(RtsTracker().is_left({3, 0}));
}

TEST(RtsTracker, OneThatAMatchedProbeTookIsNotLeft) {
  Alike messages{{}, {{3, 1}, {11, 9}}};
  EXPECT_TRUE(messages.take());
  EXPECT_EQ(messages.left(), 1);
  messages.receive({3, 1}, true);
  EXPECT_EQ(messages.left(), 1) << "which was noted";
  EXPECT_TRUE(messages.take());
  EXPECT_FALSE(messages.take());
  messages.receive({11, 9}, true);
  EXPECT_EQ(messages.left(), 0);
}

TEST(RtsTracker, AMatchedProbeMayHaveTakenAnotherThanWasNoted) {
  Alike messages{{}, {{3, 1}, {11, 9}}};
  EXPECT_TRUE(messages.take());
  messages.receive({11, 9}, true);
  EXPECT_TRUE(messages.seen.is_left({3, 1}));
}

TEST(RtsTracker, OneThatWasNotedMayBeReceivedByAnotherReceive) {
  Alike messages{{}, {{3, 1}, {11, 9}}};
  EXPECT_TRUE(messages.take());
  messages.receive({3, 1}, false);
  EXPECT_FALSE(messages.seen.is_left({11, 9})) << "it is what was taken";
  messages.receive({11, 9}, true);
  EXPECT_EQ(messages.left(), 0);
}

TEST(RtsTracker, ANoteEndsWithItsMessage) {
  Alike messages{{}, {{3, 1}}};
  EXPECT_TRUE(messages.take());  // of the program's own message, which was taken for it
  messages.receive({3, 1}, false);
  messages.under_way = {{3, 2}, {11, 1}};
  EXPECT_EQ(messages.left(), 2);
}

TEST(RtsTracker, WhateverIsTakenAndReceivedAsManyAreLeftAsTheMpiHas) {
  std::mt19937 random(3);
  const auto below = [&](std::size_t end) { return random() % end; };
  Alike messages;
  std::vector<RtsTracker::One> with_the_mpi, taken;
  device::Word uses[Rts::kSlots] = {};
  int moved = 0;
  for (int round = 0; round < 50'000; ++round) {
    const auto draw = [&](std::vector<RtsTracker::One>& from) {
      const auto one = from.begin() + static_cast<std::ptrdiff_t>(below(from.size()));
      const RtsTracker::One drawn = *one;
      from.erase(one);
      return drawn;
    };
    const auto receive = [&](const RtsTracker::One& one, bool matched) {
      messages.receive(one, matched);
      std::erase_if(messages.under_way, [&](const auto& each) { return each.slot == one.slot; });
    };
    const int slot = static_cast<int>(below(14)) * 8;
    const bool is_free =
        std::ranges::find(messages.under_way, slot, &RtsTracker::One::slot) == messages.under_way.end();
    if (below(2) == 0 && is_free) {
      const RtsTracker::One one{slot, ++uses[slot]};
      messages.under_way.push_back(one);
      with_the_mpi.push_back(one);
    } else if (below(3) == 0 && !taken.empty()) {
      receive(draw(taken), true);
      ++moved;
    } else if (below(2) == 0 && !with_the_mpi.empty()) {
      receive(draw(with_the_mpi), false);
    } else if (!with_the_mpi.empty()) {
      taken.push_back(draw(with_the_mpi));
      EXPECT_TRUE(messages.take());
    }
    ASSERT_EQ(messages.left(), static_cast<int>(with_the_mpi.size())) << round;
  }
  EXPECT_GT(moved, 1000);
}

}  // namespace
}  // namespace sennit::msg
