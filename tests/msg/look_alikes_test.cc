#include "msg/look_alikes.h"

#include <optional>

#include <gtest/gtest.h>

namespace sennit::msg {
namespace {

constexpr std::uint64_t kOne = 1, kOther = 2;

void send(LookAlikes& all, const Envelope& to, int step) {
  (void)all.begin(to, step, false);
}
bool doubts(const LookAlikes& all, int dest, int tag, int step) {
  return all.doubtful(dest, tag).test(static_cast<std::size_t>(step));
}

TEST(Rts, ItsLengthTellsItsStep) {
  for (int step = 0; step < Rts::kSteps; ++step) {
    const auto length = static_cast<std::uint64_t>(Rts::length_of(step));
    EXPECT_EQ(Rts::step_of(length), step);
    for (const std::uint64_t other : {length - 1, length + 1, length - 32})
      EXPECT_EQ(Rts::step_of(other), std::nullopt);
  }
  EXPECT_EQ(Rts::step_of(kLongestRts + 64), std::nullopt);
  EXPECT_EQ(Rts::step_of(kLeastLookedAt - 64), std::nullopt);
}

TEST(LookAlikes, AreInDoubtForTheirReceiverAndTagInAnyCommunicator) {
  LookAlikes all;
  EXPECT_TRUE(all.doubtful(1, 5).none());
  send(all, {1, 5, kOne}, 16);
  send(all, {1, 5, kOther}, 3);
  EXPECT_TRUE(doubts(all, 1, 5, 16));
  EXPECT_TRUE(doubts(all, 1, 5, 3));
  EXPECT_EQ(all.doubtful(1, 5).count(), 2u);
  EXPECT_TRUE(all.doubtful(1, 6).none());
  EXPECT_TRUE(all.doubtful(1, 4).none());
  EXPECT_TRUE(all.doubtful(2, 5).none());
}

TEST(LookAlikes, AreOverOnceALaterAnnouncementWasTaken) {
  LookAlikes all;
  const std::uint64_t before = all.now();
  send(all, {1, 5, kOne}, 16);
  all.taken({1, 5, kOne}, before);
  EXPECT_TRUE(doubts(all, 1, 5, 16)) << "that was sent before it";
  const std::uint64_t behind = all.now();
  send(all, {1, 5, kOne}, 17);
  all.taken({1, 5, kOther}, behind);
  all.taken({1, 6, kOne}, behind);
  all.taken({2, 5, kOne}, behind);
  EXPECT_TRUE(doubts(all, 1, 5, 16)) << "others say nothing of it";
  all.taken({1, 5, kOne}, behind);
  EXPECT_FALSE(doubts(all, 1, 5, 16));
  EXPECT_TRUE(doubts(all, 1, 5, 17));
  all.taken({1, 5, kOne}, all.now());
  EXPECT_TRUE(all.doubtful(1, 5).none());
}

TEST(LookAlikes, OfPersistentSendsThereAreNoMoreThanOfOthers) {
  LookAlikes all;
  std::optional<LookAlikes::Sending> sending = all.begin({1, 0, kOne}, 16, false);
  constexpr int kTags = 5000;
  for (int tag = 1; tag <= kTags; ++tag) (void)all.begin({1, tag, kOne}, 16, true);
  int doubted = 0;
  for (int tag = 1; tag <= kTags; ++tag) doubted += doubts(all, 1, tag, 16) ? 1 : 0;
  EXPECT_LT(doubted, 1100) << "a program may make and free one in each step";
  EXPECT_TRUE(doubts(all, 1, kTags, 16));
  all.taken({1, kTags, kOne}, all.now());
  EXPECT_TRUE(doubts(all, 1, kTags, 16)) << "it may be sent again";
  EXPECT_TRUE(doubts(all, 1, 0, 16)) << "its call has not returned";
  sending.reset();
}

TEST(LookAlikes, AreOnTheirWayUntilTheirCallsReturn) {
  LookAlikes all;
  std::optional<LookAlikes::Sending> sending = all.begin({1, 5, kOne}, 16, false);
  all.taken({1, 5, kOne}, all.now());
  EXPECT_TRUE(doubts(all, 1, 5, 16));
  const std::uint64_t meanwhile = all.now();
  sending.reset();
  all.taken({1, 5, kOne}, meanwhile);
  EXPECT_TRUE(doubts(all, 1, 5, 16)) << "who knows which of the two was sent first";
  all.taken({1, 5, kOne}, all.now());
  EXPECT_FALSE(doubts(all, 1, 5, 16));
}

TEST(LookAlikes, OfPersistentSendsStayInDoubt) {
  LookAlikes all;
  (void)all.begin({1, 5, kOne}, 16, true);
  all.taken({1, 5, kOne}, all.now());
  EXPECT_TRUE(doubts(all, 1, 5, 16));
}

TEST(LookAlikes, OfManyTagsTheOldestIsForgotten) {
  constexpr int kTags = 3000;
  LookAlikes all;
  (void)all.begin({1, kTags, kOne}, 16, true);
  for (int tag = 0; tag < kTags; ++tag) send(all, {1, tag, kOne}, 16);
  int kept = 0;
  for (int tag = 0; tag < kTags; ++tag) kept += doubts(all, 1, tag, 16) ? 1 : 0;
  EXPECT_LT(kept, kTags / 2);
  EXPECT_GT(kept, kTags / 10);
  EXPECT_FALSE(doubts(all, 1, 0, 16));
  EXPECT_TRUE(doubts(all, 1, kTags - 1, 16));
  EXPECT_TRUE(doubts(all, 1, kTags, 16)) << "one that may be sent again";
}

}  // namespace
}  // namespace sennit::msg
