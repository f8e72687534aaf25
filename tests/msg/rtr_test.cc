#include "msg/rtr.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace sennit::msg {
namespace {

const RemoteKey kWhere{11, 12, 13, 14};

TEST(Rtr, IsHeardOnce) {
  comm::Slot slot{};
  Rtr rtr(slot);
  EXPECT_EQ(rtr.accept(1), std::nullopt);
  rtr.post(1, kWhere);
  EXPECT_TRUE(rtr.is_posted(1));
  EXPECT_EQ(rtr.accept(2), std::nullopt) << "it is of another announcement";
  const auto where = rtr.accept(1);
  ASSERT_TRUE(where);
  EXPECT_EQ(where->identity, 11u);
  EXPECT_EQ(where->key_file, 12u);
  EXPECT_EQ(where->offset, 13u);
  EXPECT_EQ(where->address, 14u);
  EXPECT_EQ(rtr.accept(1), std::nullopt);
  EXPECT_FALSE(rtr.cancel(1));
  EXPECT_FALSE(rtr.is_rejected(1));
}

TEST(Rtr, ThatIsWithdrawnIsNotHeard) {
  comm::Slot slot{};
  Rtr rtr(slot);
  rtr.post(1, kWhere);
  EXPECT_TRUE(rtr.cancel(1));
  EXPECT_FALSE(rtr.cancel(1));
  EXPECT_TRUE(rtr.is_claimed(1)) << "the receiver copies";
  EXPECT_FALSE(rtr.is_claimed(2));
  EXPECT_EQ(rtr.accept(1), std::nullopt);
  rtr.post(2, kWhere);
  EXPECT_FALSE(rtr.cancel(1));
  EXPECT_TRUE(rtr.accept(2));
}

TEST(Rtr, MayBeRefusedWhereItWasHeard) {
  comm::Slot slot{};
  Rtr rtr(slot);
  rtr.post(7, kWhere);
  rtr.reject(7);
  EXPECT_FALSE(rtr.is_rejected(7)) << "nobody has heard it";
  ASSERT_TRUE(rtr.accept(7));
  rtr.reject(7);
  EXPECT_TRUE(rtr.is_rejected(7));
  EXPECT_FALSE(rtr.is_rejected(8));
}

TEST(Rtr, IsNotMadeOfAMessageThatWasLeft) {
  comm::Slot slot{};
  Rtr rtr(slot);
  EXPECT_TRUE(rtr.leave_copy(3));
  EXPECT_FALSE(rtr.leave_copy(3));
  EXPECT_FALSE(rtr.post(3, kWhere));
  EXPECT_FALSE(rtr.claim(3));
  EXPECT_FALSE(rtr.is_posted(3));
  EXPECT_TRUE(rtr.post(4, kWhere)) << "the slot's next message";
  EXPECT_TRUE(rtr.accept(4));
}

TEST(Rtr, OfAReceiverThatHasComeKeepsItsSenderFromLeaving) {
  comm::Slot slot{};
  Rtr rtr(slot);
  EXPECT_TRUE(rtr.post(1, kWhere));
  EXPECT_FALSE(rtr.leave_copy(1));
  EXPECT_TRUE(rtr.claim(2));
  EXPECT_FALSE(rtr.leave_copy(2));
  EXPECT_TRUE(rtr.claim(2)) << "what it has said before bars nothing";
  EXPECT_TRUE(rtr.post(2, kWhere)) << "it lets the sender copy after all";
  EXPECT_TRUE(rtr.leave_copy(5));
}

TEST(Rtr, IsEitherHeardOrWithdrawn) {
  comm::Slot slot{};
  constexpr std::uint64_t kWishes = 5000;
  std::atomic<std::uint64_t> opened{0}, decided{0};
  std::uint64_t heard = 0, withdrawn = 0;
  std::thread sender([&] {
    Rtr rtr(slot);
    for (std::uint64_t number = 1; number <= kWishes; ++number) {
      while (opened.load() < number) std::this_thread::yield();
      if (const auto where = rtr.accept(number)) {
        ++heard;
        EXPECT_EQ(where->offset, number);
      }
      decided = number;
    }
  });
  Rtr rtr(slot);
  for (std::uint64_t number = 1; number <= kWishes; ++number) {
    rtr.post(number, {1, 2, number, 3});
    opened = number;
    if (number % 2 == 0)
      while (decided.load() + 1 < number) std::this_thread::yield();
    withdrawn += rtr.cancel(number);
    while (decided.load() < number) std::this_thread::yield();
  }
  sender.join();
  EXPECT_EQ(heard + withdrawn, kWishes);
}

}  // namespace
}  // namespace sennit::msg
