#include "comm/handshake.h"

#include <sys/socket.h>

#include <random>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/frame.h"
#include "comm/secret.h"
#include "comm/socket.h"

namespace sennit::comm {
namespace {

using testing::HasSubstr;

const Door kDoor{"test", "the secret", 0, 3};
Deadline in(int ms) {
  return Deadline::after(milliseconds(ms));
}

// A door with a doorman behind it, for as long as a test knocks.
class House {
 public:
  explicit House(int ms) : name_("sennit-" + *random_hex(16)), listener_(std::move(*listen_unix(name_))) {
    doorman_ = std::thread([this, ms] { admitted_ = admit(listener_.get(), kDoor, {1, 2}, true, in(ms)); });
  }
  ~House() {
    if (doorman_.joinable()) doorman_.join();
  }
  UniqueFd arrive() { return std::move(*connect_unix(name_, in(1000))); }
  Admitted& close() {
    doorman_.join();
    return admitted_;
  }

 private:
  std::string name_;
  UniqueFd listener_;
  Admitted admitted_;
  std::thread doorman_;
};

Status knock_once(House& house, Door door, int rank, std::vector<UniqueFd>& stay) {
  stay.push_back(house.arrive());
  return knock(stay.back().get(), door, rank, in(5000));
}

TEST(Handshake, LetsInWhoIsExpected) {
  House house(5000);
  std::vector<UniqueFd> stay;
  EXPECT_TRUE(knock_once(house, kDoor, 2, stay).ok());
  EXPECT_TRUE(knock_once(house, kDoor, 1, stay).ok());
  Admitted& admitted = house.close();
  EXPECT_TRUE(admitted.status.ok());
  EXPECT_EQ(admitted.ranks.size(), 2u);
  ASSERT_TRUE(send_frame(admitted.ranks[2].get(), {Kind::item, Bytes(1), {}}, in(1000)).ok());
  EXPECT_TRUE(receive_frame(stay[0].get(), Kind::item, in(1000)).ok());
}

TEST(Handshake, TurnsAwayEveryoneElseWithTheReason) {
  House house(5000);
  std::vector<UniqueFd> stay;
  Door wrong = kDoor;
  wrong.secret = "a guess";
  EXPECT_EQ(knock_once(house, wrong, 1, stay).code(), Code::permission_denied);
  wrong = kDoor;
  wrong.purpose = "another";
  EXPECT_EQ(knock_once(house, wrong, 1, stay).code(), Code::permission_denied);
  wrong = kDoor;
  wrong.size = 4;
  EXPECT_EQ(knock_once(house, wrong, 1, stay).code(), Code::mismatch);
  EXPECT_EQ(knock_once(house, kDoor, 3, stay).code(), Code::mismatch);
  EXPECT_TRUE(knock_once(house, kDoor, 1, stay).ok());
  EXPECT_EQ(knock_once(house, kDoor, 1, stay).code(), Code::mismatch);
  EXPECT_TRUE(knock_once(house, kDoor, 2, stay).ok());
  EXPECT_TRUE(house.close().status.ok());
}

TEST(Handshake, IsNotHeldUpByNoiseOrSilence) {
  House house(10000);
  std::vector<UniqueFd> stay;
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) {
    UniqueFd fd = house.arrive();
    Bytes noise(random() % 64);
    for (std::byte& b : noise) b = std::byte(random());
    (void)::send(fd.get(), noise.data(), noise.size(), MSG_NOSIGNAL);
    if (i % 3 != 0) stay.push_back(std::move(fd));
  }
  EXPECT_TRUE(knock_once(house, kDoor, 1, stay).ok());
  EXPECT_TRUE(knock_once(house, kDoor, 2, stay).ok());
  EXPECT_TRUE(house.close().status.ok());
}

TEST(Handshake, NamesWhoDidNotCome) {
  House house(300);
  std::vector<UniqueFd> stay;
  EXPECT_TRUE(knock_once(house, kDoor, 2, stay).ok());
  Admitted& admitted = house.close();
  EXPECT_EQ(admitted.status.code(), Code::timed_out);
  EXPECT_THAT(admitted.status.text(), HasSubstr("rank 1 did not come within 0.3 s"));
  EXPECT_EQ(admitted.ranks.count(2), 1u);
}

TEST(Handshake, NoticesWhoCameAndLeft) {
  House house(10000);
  std::vector<UniqueFd> stay;
  EXPECT_TRUE(knock_once(house, kDoor, 2, stay).ok());
  stay.clear();
  const Status status = house.close().status;
  EXPECT_EQ(status.code(), Code::peer_lost);
  EXPECT_THAT(status.text(), HasSubstr("rank 2 came and left"));
}

// Someone else listens in rank 0's place, and lets everyone in.
TEST(Handshake, DoesNotBelieveAHostWithoutTheSecret) {
  const std::string name = "sennit-" + *random_hex(16);
  const UniqueFd listener = std::move(*listen_unix(name));
  const UniqueFd fd = std::move(*connect_unix(name, in(1000)));
  const UniqueFd impostor = accept_one(listener.get());
  (void)send_frame(impostor.get(), {Kind::challenge, Writer().text("n").take(), {}}, in(1000));
  (void)send_frame(impostor.get(), {Kind::welcome, Writer().data(Bytes(32)).take(), {}}, in(1000));
  EXPECT_EQ(knock(fd.get(), kDoor, 1, in(1000)).code(), Code::permission_denied);
}

}  // namespace
}  // namespace sennit::comm
