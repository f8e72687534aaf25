#include "profile/matching.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace sennit::profile {
namespace {

/// Each message has a receive of its sender and tag, some of which are open.
TEST(Matching, LeavesNothingOverWhereAllFits) {
  std::mt19937 random(3);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<MessageEnd> sends;
    std::vector<Receive> receives;
    for (int i = 0; i < 40; ++i) {
      const auto other = static_cast<std::int32_t>(random() % 3), tag = static_cast<std::int32_t>(random() % 2);
      sends.push_back({random() % 1000 + 1, other, tag});
      Receive receive{{random() % 1000 + 1, other, tag}};
      if (turn % 2 == 0 && random() % 3 == 0) receive.tag = kAny;
      if (turn % 4 == 0 && random() % 3 == 0) receive.other = receive.tag = kAny;
      receives.push_back(receive);
    }
    std::ranges::shuffle(sends, random);
    const Matching found = match(sends, receives);
    EXPECT_EQ(found.matched.size() + found.sends, sends.size());
    EXPECT_EQ(found.matched.size() + found.receives, receives.size());
    if (turn % 4 != 0) {  // opens of one sender that another one's cannot take
      EXPECT_EQ(found.sends, 0u) << turn;
    }
  }
}

TEST(Matching, MessagesOfOneSenderDoNotOvertake) {
  const std::vector<MessageEnd> sends{{10, 0, 1}, {20, 0, 1}, {30, 0, 1}};
  const std::vector<Receive> exact{{{5, 0, 1}}, {{25, 0, 1}}, {{26, 0, 1}}};
  EXPECT_EQ(match(sends, exact).matched, (std::vector<Matched>{{10, 5}, {20, 25}, {30, 26}}));
  const std::vector<Receive> mixed{{{5, 0, 1}}, {{25, kAny, kAny}}, {{26, 0, 1}}};
  EXPECT_EQ(match(sends, mixed).matched, (std::vector<Matched>{{10, 5}, {20, 25}, {30, 26}}));
}

/// A receive posted first is asked first, whatever it leaves open.
TEST(Matching, TheFirstPostedIsAskedFirst) {
  const std::vector<MessageEnd> sends{{10, 0, 1}, {20, 0, 1}};
  EXPECT_EQ(match(sends, {{{1, 0, 1}}, {{2, kAny, 1}}}).matched, (std::vector<Matched>{{10, 1}, {20, 2}}));
  EXPECT_EQ(match(sends, {{{2, 0, 1}}, {{1, kAny, 1}}}).matched, (std::vector<Matched>{{10, 1}, {20, 2}}));
}

/// The queues of a program that was made for it would be searched for hours.
TEST(Matching, EndsWhereQueuesAreLongAndSearchedInVain) {
  std::vector<MessageEnd> sends;
  std::vector<Receive> receives;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    sends.push_back({i, 0, 7});
    receives.push_back({{i, kAny, 8}});
    receives.push_back({{i + 100'000, 0, 7}});
  }
  const Matching found = match(sends, receives);
  EXPECT_EQ(found.matched.size(), 60'000u);
  EXPECT_EQ(found.receives, 60'000u);
}

}  // namespace
}  // namespace sennit::profile
