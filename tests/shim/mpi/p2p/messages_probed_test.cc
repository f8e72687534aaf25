// What a probe is told of messages that are announced, and which of them are announced by how many bytes.
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "../two_ranks.h"

namespace sennit::shim::mpi {
namespace {

/// How long a message is that rank 0 announces by so many bytes.
std::optional<std::uint64_t> announced(Party& rank, int length, bool taken = false,
                                       std::uint64_t members = kMembers) {
  return rank.messages->announced(0, 5, members, static_cast<std::uint64_t>(length), taken);
}

TEST(Messages, ManyShortOnesAreAnnouncedBesideManyLongOnes) {
  between_two(
      [](Party& rank, Rts& card) {
        std::vector<std::unique_ptr<Messages::SendTransfer>> all;
        for (int i = 0; i < 40; ++i) all.push_back(announce(rank, card, kMostBytes));
        for (int i = 0; i < 64; ++i) {
          all.push_back(announce(rank, card, kLeastAnnounced));
          ASSERT_NE(all.back(), nullptr) << i;
          EXPECT_LE(static_cast<std::uint64_t>(all.back()->length()), kLeastAnnounced);
        }
      },
      [](Party&, Rts&) {});
}

TEST(Messages, OneThatIsRefusedIsTaken) {
  between_two(
      [](Party& rank, Rts& card) {
        fill(rank, 3);
        const auto outgoing = announce(rank, card, kMostBytes);
        rank.meet();
        until_taken(*outgoing);
      },
      [](Party& rank, Rts& card) {
        rank.meet();
        EXPECT_EQ(announced(rank, card.length()), kMostBytes);
        rank.messages->refuse(card, false);
        EXPECT_FALSE(announced(rank, card.length()));
      });
}

TEST(Messages, WhoHasLookedAtAnAnnouncementFindsAnotherMessageOfItsLength) {
  between_two(
      [](Party& rank, Rts& card) {
        for (int round = 0; round < 2; ++round) {
          fill(rank, 3);
          const auto outgoing = announce(rank, card, kMostBytes);
          rank.meet();
          rank.meet();
          until_taken(*outgoing);
        }
      },
      [](Party& rank, Rts& card) {
        for (int round = 0; round < 2; ++round) {
          rank.meet();
          EXPECT_EQ(announced(rank, card.length()), kMostBytes) << "a slot's next message is another one";
          EXPECT_FALSE(announced(rank, card.length() + 64));
          EXPECT_FALSE(announced(rank, card.length(), false, kMembers + 1)) << "in another communicator";
          std::unique_ptr<Messages::RecvTransfer> incoming;
          const bool matched = round == 0;
          EXPECT_EQ(announced(rank, card.length(), matched), kMostBytes);
          if (!matched) incoming = rank.messages->fetch(card, false, rank.memory.data(), 1);
          EXPECT_FALSE(announced(rank, card.length())) << "while it is on its way";
          if (matched) incoming = rank.messages->fetch(card, true, rank.memory.data(), 1);
          rank.meet();
          until_done(*incoming);
        }
      });
}

TEST(Messages, NoAnnouncementIsAsLongAsAMessageThatMayBeUnreceived) {
  between_two(
      [](Party& rank, Rts& card) {
        constexpr int kFirst = Rts::kGroups;  // that a long message gets
        (void)rank.look_alikes.begin(kTo, kFirst, false);
        const auto one = announce(rank, card, kMostBytes);
        EXPECT_NE(card.step, kFirst);
        EXPECT_EQ(rank.messages->announce(rank.memory.data(), kMostBytes, {1, 6, 3, kMembers}, true)->rts().step,
                  kFirst)
            << "with another tag";
        for (int step = 0; step < Rts::kSteps; ++step) (void)rank.look_alikes.begin(kTo, step, false);
        EXPECT_EQ(rank.messages->announce(rank.memory.data(), kMostBytes, kTo, true), nullptr);
        rank.meet();
        until_taken(*one);
        rank.meet();
      },
      [](Party& rank, Rts& card) {
        rank.meet();
        rank.messages->refuse(card, false);
        rank.meet();
      });
}

TEST(Messages, ThoseThatAreAlikeAreFoundOneAfterTheOther) {
  std::vector<Rts> cards(3);
  between_two(
      [&](Party& rank, Rts&) {
        fill(rank, 6);
        const auto all = announce_many(rank, cards);
        EXPECT_EQ(cards[0].length(), cards[2].length());
        EXPECT_NE(cards[0].slot, cards[2].slot);
        rank.meet();
        for (const auto& each : all) until_taken(*each);
        rank.meet();
      },
      [&](Party& rank, Rts&) {
        rank.meet();
        const int length = cards[0].length();
        EXPECT_EQ(announced(rank, length), kShort);
        EXPECT_EQ(announced(rank, length, true), kShort) << "of which nobody knows which it is";
        // The second one was received before it was probed for, and the matched probe took the third.
        auto second = rank.messages->fetch(cards[1], false, rank.memory.data() + kShort, 1);
        EXPECT_EQ(announced(rank, length), kShort);
        auto third = rank.messages->fetch(cards[2], true, rank.memory.data() + 2 * kShort, 1);
        EXPECT_EQ(announced(rank, length), kShort);
        EXPECT_EQ(announced(rank, length, true), kShort);
        EXPECT_FALSE(announced(rank, length)) << "a message of the program's own, that came behind them";
        rank.messages->refuse(cards[0], true);
        EXPECT_FALSE(announced(rank, length));
        until_done(*second);
        until_done(*third);
        EXPECT_EQ(rank.memory.data()[kShort], std::byte((kShort * 7 + kShort / 509 + 6) & 0xFF));
        rank.meet();
      });
}

TEST(Messages, NobodyFindsOneThatWasCancelled) {
  between_two(
      [](Party& rank, Rts& card) {
        announce(rank, card, kMostBytes).reset();
        rank.meet();
      },
      [](Party& rank, Rts& card) {
        rank.meet();
        EXPECT_FALSE(announced(rank, card.length()));
      });
}

}  // namespace
}  // namespace sennit::shim::mpi
