#include "msg/rts_slots.h"

#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace sennit::msg {
namespace {

constexpr Envelope kThere{1, 5, 3, 77};
constexpr LookAlikes::Steps kNoDoubt;
constexpr std::uint64_t kLongMessage = 1 << 20;

TEST(RtsSlots, ShortMessagesOfOneKindGetThemAll) {
  RtsSlots slots;
  std::set<int> taken, steps;
  for (int i = 0; i < Rts::kSlots; ++i) {
    const auto one = slots.take(kLeastAnnounced, kThere, kNoDoubt);
    ASSERT_TRUE(one) << i;
    EXPECT_LE(static_cast<std::uint64_t>(Rts::length_of(one->step)), kLeastAnnounced);
    taken.insert(one->slot);
    steps.insert(one->step);
  }
  EXPECT_EQ(taken.size(), static_cast<std::size_t>(Rts::kSlots));
  EXPECT_EQ(*taken.begin(), 0);
  EXPECT_EQ(*taken.rbegin(), Rts::kSlots - 1);
  EXPECT_EQ(steps.size(), static_cast<std::size_t>(Rts::kGroups));
  EXPECT_FALSE(slots.take(kLeastAnnounced, kThere, kNoDoubt));
  EXPECT_FALSE(slots.take(kLongMessage, kThere, kNoDoubt));
  slots.give_back(42);
  EXPECT_EQ(slots.take(kLeastAnnounced, kThere, kNoDoubt)->slot, 42);
}

TEST(RtsSlots, WhatAProbeTellsApartHasOneLength) {
  RtsSlots slots;
  const auto one = slots.take(kLongMessage, kThere, kNoDoubt);
  ASSERT_TRUE(one);
  EXPECT_EQ(slots.take(kLongMessage - 1, {2, 5, 3, 77}, kNoDoubt)->step, one->step) << "to another rank";
  EXPECT_EQ(slots.take(kLongMessage - 2, {1, 6, 3, 77}, kNoDoubt)->step, one->step) << "with another tag";
  EXPECT_EQ(slots.take(kLongMessage - 3, {1, 5, 4, 78}, kNoDoubt)->step, one->step) << "between other ranks";
  EXPECT_EQ(slots.take(kLongMessage, {1, 5, 4, 77}, kNoDoubt)->step, one->step) << "as long";
  EXPECT_NE(slots.take(kLongMessage - 4, {1, 5, 4, 77}, kNoDoubt)->step, one->step)
      << "in another communicator of the same ranks a probe does not tell it apart";
}

TEST(RtsSlots, ShortMessagesOfManyLengthsAreNotAllAnnounced) {
  RtsSlots slots;
  for (unsigned i = 0; i < Rts::kGroups; ++i) EXPECT_TRUE(slots.take(kLeastAnnounced + i, kThere, kNoDoubt));
  EXPECT_FALSE(slots.take(kLeastAnnounced + 20, kThere, kNoDoubt));
  EXPECT_TRUE(slots.take(kLeastAnnounced + 20, {1, 6, 3, 77}, kNoDoubt));
  EXPECT_TRUE(slots.take(kLeastAnnounced, kThere, kNoDoubt)) << "as long as another one";
  EXPECT_TRUE(slots.take(kLongMessage, kThere, kNoDoubt)) << "long ones have longer announcements";
}

TEST(RtsSlots, NoLengthIsTakenThatIsInDoubt) {
  RtsSlots slots;
  LookAlikes::Steps doubtful;
  doubtful.set(0);
  EXPECT_EQ(slots.take(kLeastAnnounced, kThere, doubtful)->step, 1) << "another group";
  EXPECT_EQ(slots.take(kLongMessage, kThere, doubtful)->step, Rts::kGroups) << "a longer one of the first";
  doubtful.set();
  EXPECT_FALSE(slots.take(kLongMessage, kThere, doubtful));
  EXPECT_FALSE(slots.take(kLeastLookedAt - 1, kThere, kNoDoubt)) << "no announcement is so short";
}

TEST(RtsSlots, ALostOneIsNeverTakenAgainAndBarsNothing) {
  RtsSlots slots;
  const auto lost = slots.take(kLongMessage, kThere, kNoDoubt);
  slots.lose(lost->slot);
  for (int i = 1; i < Rts::kSlots; ++i) {
    const auto one = slots.take(kLeastAnnounced, kThere, kNoDoubt);
    ASSERT_TRUE(one);
    EXPECT_NE(one->slot, lost->slot);
  }
  EXPECT_FALSE(slots.take(kLeastAnnounced, kThere, kNoDoubt));
}

TEST(RtsSlots, WhateverIsUnderWayAProbeCanTellHowLongEachIs) {
  struct Message {
    Envelope to;
    std::uint64_t bytes;
    int step;
  };
  std::mt19937 random(7);
  const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
  RtsSlots slots;
  std::map<int, Message> under_way;  // by slot
  int refused = 0;
  for (int round = 0; round < 100'000; ++round) {
    // Now many are under way, now few.
    if (below(100) < (round / 1000 % 2 == 0 ? 30 : 70) && !under_way.empty()) {
      const auto one = std::next(under_way.begin(), below(static_cast<unsigned>(under_way.size())));
      slots.give_back(one->first);
      under_way.erase(one);
      continue;
    }
    const Envelope to{below(2), below(2), static_cast<std::uint64_t>(below(2)), static_cast<std::uint64_t>(below(2))};
    const auto bytes = kLeastAnnounced + static_cast<std::uint64_t>(below(2) == 0 ? below(4) : below(12'000));
    LookAlikes::Steps doubtful;
    for (int i = below(4); i > 0; --i) doubtful.set(static_cast<std::size_t>(below(16)));
    const auto one = slots.take(bytes, to, doubtful);
    if (!one) {
      ++refused;
      const bool any_length = bytes >= kLongestRts && doubtful.none();
      EXPECT_TRUE(!any_length || under_way.size() == std::size_t{Rts::kSlots}) << under_way.size();
      continue;
    }
    EXPECT_FALSE(doubtful.test(static_cast<std::size_t>(one->step)));
    EXPECT_LE(static_cast<std::uint64_t>(Rts::length_of(one->step)), bytes);
    EXPECT_EQ(Rts::group_of(one->slot), Rts::group_of(one->step));
    for (const auto& [slot, other] : under_way) {
      const bool alike =
          other.step == one->step && other.to.dest_and_tag() == to.dest_and_tag() && other.to.members == to.members;
      EXPECT_TRUE(!alike || other.bytes == bytes) << other.bytes << " and " << bytes << " bytes";
    }
    EXPECT_TRUE(under_way.insert({one->slot, {to, bytes, one->step}}).second) << "that slot is in use";
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace sennit::msg
