#include "shim/mpi/wish.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {
namespace {

const LoanName kWhere{11, 12, 13, 14};

TEST(Wish, IsHeardOnce) {
  comm::Slot slot{};
  Wish wish(slot);
  EXPECT_EQ(wish.hear(1), std::nullopt);
  wish.open(1, kWhere);
  EXPECT_TRUE(wish.is_open(1));
  EXPECT_EQ(wish.hear(2), std::nullopt) << "it is of another announcement";
  const auto where = wish.hear(1);
  ASSERT_TRUE(where);
  EXPECT_EQ(where->identity, 11u);
  EXPECT_EQ(where->card, 12u);
  EXPECT_EQ(where->offset, 13u);
  EXPECT_EQ(where->address, 14u);
  EXPECT_EQ(wish.hear(1), std::nullopt);
  EXPECT_FALSE(wish.withdraw(1));
  EXPECT_FALSE(wish.is_refused(1));
}

TEST(Wish, ThatIsWithdrawnIsNotHeard) {
  comm::Slot slot{};
  Wish wish(slot);
  wish.open(1, kWhere);
  EXPECT_TRUE(wish.withdraw(1));
  EXPECT_FALSE(wish.withdraw(1));
  EXPECT_TRUE(wish.is_claimed(1)) << "the receiver copies";
  EXPECT_FALSE(wish.is_claimed(2));
  EXPECT_EQ(wish.hear(1), std::nullopt);
  wish.open(2, kWhere);
  EXPECT_FALSE(wish.withdraw(1));
  EXPECT_TRUE(wish.hear(2));
}

TEST(Wish, MayBeRefusedWhereItWasHeard) {
  comm::Slot slot{};
  Wish wish(slot);
  wish.open(7, kWhere);
  wish.refuse(7);
  EXPECT_FALSE(wish.is_refused(7)) << "nobody has heard it";
  ASSERT_TRUE(wish.hear(7));
  wish.refuse(7);
  EXPECT_TRUE(wish.is_refused(7));
  EXPECT_FALSE(wish.is_refused(8));
}

TEST(Wish, IsNotMadeOfAMessageThatWasLeft) {
  comm::Slot slot{};
  Wish wish(slot);
  EXPECT_TRUE(wish.leave(3));
  EXPECT_FALSE(wish.leave(3));
  EXPECT_FALSE(wish.open(3, kWhere));
  EXPECT_FALSE(wish.claim(3));
  EXPECT_FALSE(wish.is_open(3));
  EXPECT_TRUE(wish.open(4, kWhere)) << "the slot's next message";
  EXPECT_TRUE(wish.hear(4));
}

TEST(Wish, OfAReceiverThatHasComeKeepsItsSenderFromLeaving) {
  comm::Slot slot{};
  Wish wish(slot);
  EXPECT_TRUE(wish.open(1, kWhere));
  EXPECT_FALSE(wish.leave(1));
  EXPECT_TRUE(wish.claim(2));
  EXPECT_FALSE(wish.leave(2));
  EXPECT_TRUE(wish.claim(2)) << "what it has said before bars nothing";
  EXPECT_TRUE(wish.open(2, kWhere)) << "it lets the sender copy after all";
  EXPECT_TRUE(wish.leave(5));
}

TEST(Wish, IsEitherHeardOrWithdrawn) {
  comm::Slot slot{};
  constexpr std::uint64_t kWishes = 5000;
  std::atomic<std::uint64_t> opened{0}, decided{0};
  std::uint64_t heard = 0, withdrawn = 0;
  std::thread sender([&] {
    Wish wish(slot);
    for (std::uint64_t number = 1; number <= kWishes; ++number) {
      while (opened.load() < number) std::this_thread::yield();
      if (const auto where = wish.hear(number)) {
        ++heard;
        EXPECT_EQ(where->offset, number);
      }
      decided = number;
    }
  });
  Wish wish(slot);
  for (std::uint64_t number = 1; number <= kWishes; ++number) {
    wish.open(number, {1, 2, number, 3});
    opened = number;
    if (number % 2 == 0)
      while (decided.load() + 1 < number) std::this_thread::yield();
    withdrawn += wish.withdraw(number);
    while (decided.load() < number) std::this_thread::yield();
  }
  sender.join();
  EXPECT_EQ(heard + withdrawn, kWishes);
}

}  // namespace
}  // namespace sennit::shim::mpi
