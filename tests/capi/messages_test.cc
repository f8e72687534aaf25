// Messages of a rank that is alone, and the options that they need. Several ranks: tests/interop/capi_rank.py.
#include <cstddef>
#include <string>

#include <gmock/gmock.h>

#include "alone.h"

namespace sennit::capi {
namespace {

using testing::HasSubstr;

class MessagesTest : public Alone {
 protected:
  void SetUp() override {
    Alone::SetUp();
    options.messages = 1;
    ASSERT_EQ(sennit_comm_create(&options, &with), SENNIT_OK) << sennit_last_error();
  }
  void TearDown() override {
    EXPECT_EQ(sennit_comm_destroy(with), SENNIT_OK) << sennit_last_error();
    Alone::TearDown();
  }
  std::string refused(const sennit_message* messages, int count) {
    EXPECT_EQ(sennit_send_receive(with, messages, count, nullptr), SENNIT_INVALID_ARGUMENT);
    return sennit_last_error();
  }

  sennit_options options = SENNIT_OPTIONS_INIT;
  sennit_comm* with = nullptr;
  int from[2] = {3, 4}, to[2] = {};
};

TEST_F(MessagesTest, GoToOneself) {
  const sennit_message both[] = {
      {0, 0, &to[0], 4}, {0, 1, &from[0], 4}, {0, 1, &from[1], 4}, {0, 0, &to[1], 4}, {0, 1, nullptr, 0}};
  ASSERT_EQ(sennit_send_receive(with, both, 5, nullptr), SENNIT_OK) << sennit_last_error();
  ASSERT_EQ(sennit_send_receive(with, nullptr, 0, nullptr), SENNIT_OK) << sennit_last_error();
  ASSERT_EQ(sennit_synchronize(with, nullptr), SENNIT_OK);
  EXPECT_THAT(to, testing::ElementsAre(3, 4));
}

TEST_F(MessagesTest, ArePartOfASplit) {
  sennit_comm* part = nullptr;
  ASSERT_EQ(sennit_comm_split(with, 0, 0, &part), SENNIT_OK);
  EXPECT_EQ(sennit_send_receive(part, nullptr, 0, nullptr), SENNIT_OK) << sennit_last_error();
  EXPECT_EQ(sennit_comm_destroy(part), SENNIT_OK);
}

TEST_F(MessagesTest, ErrorsNameWhatIsWrongAndTheRemedy) {
  sennit_message one{0, 1, from, 4};
  EXPECT_THAT(refused(&one, 1), HasSubstr("1 messages from this rank to itself, and 0 that it receives"));
  EXPECT_THAT(refused(&one, -1), HasSubstr("-1 messages"));
  EXPECT_THAT(refused(nullptr, 1), HasSubstr("messages is null"));
  one.peer = 1;
  EXPECT_THAT(refused(&one, 1), HasSubstr("there is no rank 1 (send and receive). Use 0 to 0"));
  one = {0, 2, from, 4};
  EXPECT_THAT(refused(&one, 1), HasSubstr("messages[0].sends is 2"));
  one = {0, 0, nullptr, 4};
  EXPECT_THAT(refused(&one, 1), HasSubstr("output is null (send and receive: from rank 0)"));
  EXPECT_EQ(sennit_send_receive(comm, &one, 1, nullptr), SENNIT_UNSUPPORTED);
  EXPECT_THAT(sennit_last_error(), HasSubstr("Set options.messages to 1 on every rank"));
}

TEST_F(MessagesTest, OptionsAreCheckedAndThoseOfOlderProgramsKnown) {
  sennit_comm* made = nullptr;
  options.messages = 2;
  EXPECT_EQ(sennit_comm_create(&options, &made), SENNIT_INVALID_ARGUMENT);
  EXPECT_THAT(sennit_last_error(), HasSubstr("options.messages is 2"));
  options.most_blocks = -1;
  options.struct_size = offsetof(sennit_options, messages);
  ASSERT_EQ(sennit_comm_create(&options, &made), SENNIT_OK) << sennit_last_error();
  EXPECT_EQ(sennit_comm_destroy(made), SENNIT_OK);
  options = SENNIT_OPTIONS_INIT;
  options.most_blocks = -1;
  EXPECT_EQ(sennit_comm_create(&options, &made), SENNIT_INVALID_ARGUMENT);
  EXPECT_THAT(sennit_last_error(), HasSubstr("options.most_blocks is -1"));
}

}  // namespace
}  // namespace sennit::capi
