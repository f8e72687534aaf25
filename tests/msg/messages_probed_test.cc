// What a probe is told of messages that are announced, and which of them are announced by how many bytes.
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "msg/two_ranks.h"

namespace sennit::msg {
namespace {

/// How long a message is that rank 0 announces by so many bytes.
std::optional<std::uint64_t> announced(Party& rank, int length, bool taken = false,
                                       std::uint64_t members = kMembers) {
  return rank.messages->announced(0, 5, members, static_cast<std::uint64_t>(length), taken);
}

TEST(Messages, ManyShortOnesAreAnnouncedBesideManyLongOnes) {
  between_two(
      [](Party& rank, Rts& rts) {
        std::vector<std::unique_ptr<Messages::SendTransfer>> all;
        for (int i = 0; i < 40; ++i) all.push_back(announce(rank, rts, kMostBytes));
        for (int i = 0; i < 64; ++i) {
          all.push_back(announce(rank, rts, kLeastAnnounced));
          ASSERT_NE(all.back(), nullptr) << i;
          EXPECT_LE(static_cast<std::uint64_t>(all.back()->length()), kLeastAnnounced);
        }
      },
      [](Party&, Rts&) {});
}

TEST(Messages, OneThatIsRefusedIsTaken) {
  between_two(
      [](Party& rank, Rts& rts) {
        fill(rank, 3);
        const auto outgoing = announce(rank, rts, kMostBytes);
        rank.meet();
        until_taken(*outgoing);
      },
      [](Party& rank, Rts& rts) {
        rank.meet();
        EXPECT_EQ(announced(rank, rts.length()), kMostBytes);
        rank.messages->refuse(rts, false);
        EXPECT_FALSE(announced(rank, rts.length()));
      });
}

TEST(Messages, WhoHasLookedAtAnAnnouncementFindsAnotherMessageOfItsLength) {
  between_two(
      [](Party& rank, Rts& rts) {
        for (int round = 0; round < 2; ++round) {
          fill(rank, 3);
          const auto outgoing = announce(rank, rts, kMostBytes);
          rank.meet();
          rank.meet();
          until_taken(*outgoing);
        }
      },
      [](Party& rank, Rts& rts) {
        for (int round = 0; round < 2; ++round) {
          rank.meet();
          EXPECT_EQ(announced(rank, rts.length()), kMostBytes) << "a slot's next message is another one";
          EXPECT_FALSE(announced(rank, rts.length() + 64));
          EXPECT_FALSE(announced(rank, rts.length(), false, kMembers + 1)) << "in another communicator";
          std::unique_ptr<Messages::RecvTransfer> incoming;
          const bool matched = round == 0;
          EXPECT_EQ(announced(rank, rts.length(), matched), kMostBytes);
          if (!matched) incoming = rank.messages->fetch(rts, false, rank.memory.data(), 1);
          EXPECT_FALSE(announced(rank, rts.length())) << "while it is on its way";
          if (matched) incoming = rank.messages->fetch(rts, true, rank.memory.data(), 1);
          rank.meet();
          until_done(*incoming);
        }
      });
}

TEST(Messages, NoAnnouncementIsAsLongAsAMessageThatMayBeUnreceived) {
  between_two(
      [](Party& rank, Rts& rts) {
        constexpr int kFirst = Rts::kGroups;  // that a long message gets
        (void)rank.look_alikes.begin(kTo, kFirst, false);
        const auto one = announce(rank, rts, kMostBytes);
        EXPECT_NE(rts.step, kFirst);
        EXPECT_EQ(rank.messages->announce(rank.memory.data(), kMostBytes, {1, 6, 3, kMembers}, true)->rts().step,
                  kFirst)
            << "with another tag";
        for (int step = 0; step < Rts::kSteps; ++step) (void)rank.look_alikes.begin(kTo, step, false);
        EXPECT_EQ(rank.messages->announce(rank.memory.data(), kMostBytes, kTo, true), nullptr);
        rank.meet();
        until_taken(*one);
        rank.meet();
      },
      [](Party& rank, Rts& rts) {
        rank.meet();
        rank.messages->refuse(rts, false);
        rank.meet();
      });
}

TEST(Messages, ThoseThatAreAlikeAreFoundOneAfterTheOther) {
  std::vector<Rts> rts_of(3);
  between_two(
      [&](Party& rank, Rts&) {
        fill(rank, 6);
        const auto all = announce_many(rank, rts_of);
        EXPECT_EQ(rts_of[0].length(), rts_of[2].length());
        EXPECT_NE(rts_of[0].slot, rts_of[2].slot);
        rank.meet();
        for (const auto& each : all) until_taken(*each);
        rank.meet();
      },
      [&](Party& rank, Rts&) {
        rank.meet();
        const int length = rts_of[0].length();
        EXPECT_EQ(announced(rank, length), kShort);
        EXPECT_EQ(announced(rank, length, true), kShort) << "of which nobody knows which it is";
        // The second one was received before it was probed for, and the matched probe took the third.
        auto second = rank.messages->fetch(rts_of[1], false, rank.memory.data() + kShort, 1);
        EXPECT_EQ(announced(rank, length), kShort);
        auto third = rank.messages->fetch(rts_of[2], true, rank.memory.data() + 2 * kShort, 1);
        EXPECT_EQ(announced(rank, length), kShort);
        EXPECT_EQ(announced(rank, length, true), kShort);
        EXPECT_FALSE(announced(rank, length)) << "a message of the program's own, that came behind them";
        rank.messages->refuse(rts_of[0], true);
        EXPECT_FALSE(announced(rank, length));
        until_done(*second);
        until_done(*third);
        EXPECT_EQ(rank.memory.data()[kShort], std::byte((kShort * 7 + kShort / 509 + 6) & 0xFF));
        rank.meet();
      });
}

TEST(Messages, NobodyFindsOneThatWasCancelled) {
  between_two(
      [](Party& rank, Rts& rts) {
        announce(rank, rts, kMostBytes).reset();
        rank.meet();
      },
      [](Party& rank, Rts& rts) {
        rank.meet();
        EXPECT_FALSE(announced(rank, rts.length()));
      });
}

}  // namespace
}  // namespace sennit::msg
