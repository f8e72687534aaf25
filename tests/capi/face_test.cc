// The C++ face: owners, errors as values, an exchange that is a closure. Several ranks: examples_test.
#include "sennit/sennit.hpp"

#include <cstring>

#include <gmock/gmock.h>

#include "alone.h"

namespace sennit {
namespace {

class FaceTest : public capi::Alone {};

TEST_F(FaceTest, GivesErrorsAsValues) {
  const auto machine = Machine::load("atlantis");
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.status().result(), SENNIT_NOT_FOUND);
  EXPECT_THAT(machine.status().text(), testing::HasSubstr("no machine is called 'atlantis'"));
}

TEST_F(FaceTest, ExplainsMessages) {
  auto machine = Machine::load("mist");
  ASSERT_TRUE(machine.ok());
  auto text = machine->explain_put("gpu0", "gpu1", 64 << 20);
  ASSERT_TRUE(text.ok()) << text.status().text();
  EXPECT_THAT(*text, testing::HasSubstr("\"shares\""));
}

TEST_F(FaceTest, MovesMessages) {
  int gathered = 0;
  Options options;
  options.device = 1;
  options.messages = true;
  options.exchange = Exchange{0, 1, [&](const void* send, void* receive, std::size_t bytes) {
                                std::memcpy(receive, send, bytes);
                                return ++gathered > 0;
                              }};
  auto made = Communicator::create(options);
  ASSERT_TRUE(made.ok()) << made.status().text();
  Communicator moved = *std::move(made);
  EXPECT_EQ(moved.device(), 1);
  auto memory = moved.allocate(100);
  ASSERT_TRUE(memory.ok());
  auto window = moved.open(memory->data(), memory->bytes());
  ASSERT_TRUE(window.ok());
  EXPECT_EQ(*window->bytes(0), 100u);
  const char text[] = "every path";
  EXPECT_TRUE(window->put(0, 5, text, sizeof text));
  char back[sizeof text] = {};
  EXPECT_TRUE(window->get(0, 5, back, sizeof text));
  EXPECT_TRUE(moved.synchronize());
  EXPECT_STREQ(back, text);
  const std::int32_t number = 21, factor = 2;
  std::int32_t scaled = 0;
  EXPECT_TRUE(moved.allreduce(&number, &scaled, 1, SENNIT_INT32, SENNIT_PREMULTIPLIED_SUM, &factor));
  EXPECT_TRUE(moved.synchronize());
  EXPECT_EQ(scaled, 42);
  // Alone every collective is a copy.
  std::int32_t result = 0;
  const auto gives = [&](Status status) {
    EXPECT_TRUE(status);
    EXPECT_TRUE(moved.synchronize());
    return std::exchange(result, 0) == number;
  };
  EXPECT_TRUE(gives(moved.reduce(&number, &result, 1, SENNIT_INT32, 0)));
  EXPECT_TRUE(gives(moved.reduce_scatter(&number, &result, 1, SENNIT_INT32)));
  EXPECT_TRUE(gives(moved.allgather(&number, &result, 1, SENNIT_INT32)));
  EXPECT_TRUE(gives(moved.broadcast(&number, &result, 1, SENNIT_INT32, 0)));
  EXPECT_TRUE(gives(moved.gather(&number, &result, 1, SENNIT_INT32, 0)));
  EXPECT_TRUE(gives(moved.scatter(&number, &result, 1, SENNIT_INT32, 0)));
  EXPECT_TRUE(gives(moved.all_to_all(&number, &result, 1, SENNIT_INT32)));
  const std::uint64_t one = 1, none = 0;
  EXPECT_TRUE(gives(moved.all_to_all_v(&number, &one, &none, &result, &one, &none, SENNIT_INT32)));
  EXPECT_TRUE(moved.stream_barrier());
  std::int32_t source = number;
  const sennit_message own[] = {{0, 1, &source, 4}, {0, 0, &result, 4}};
  EXPECT_TRUE(gives(moved.send_receive(own, 2)));
  EXPECT_EQ(window->put(1, 0, text, 1).result(), SENNIT_INVALID_ARGUMENT);
  auto part = moved.split(3);
  ASSERT_TRUE(part.ok() && part->has_value());
  EXPECT_EQ((*part)->size(), 1);
  auto none_of_it = moved.split(-1);
  EXPECT_TRUE(none_of_it.ok() && !none_of_it->has_value());
  const int before = gathered;
  EXPECT_TRUE(window->close());
  EXPECT_TRUE(moved.barrier());
  EXPECT_GT(gathered, before);
}

TEST_F(FaceTest, MovesPartitions) {
  auto alone = Communicator::create();
  ASSERT_TRUE(alone.ok()) << alone.status().text();
  auto memory = alone->allocate(20);
  ASSERT_TRUE(memory.ok());
  char text[20] = "parts of a message!";
  auto send = alone->send_partitioned(text, 10, 2, 0, 1);
  auto receive = alone->receive_partitioned(memory->data(), 4, 5, 0, 1);
  ASSERT_TRUE(send.ok() && receive.ok());
  EXPECT_TRUE(send->start() && receive->start());
  const std::uint32_t which[] = {5, 1, 2};
  EXPECT_TRUE(send->ready(0) && send->ready_list(which, 3) && send->ready(3, 4));
  EXPECT_TRUE(receive->enqueue_await(0, 1) && alone->synchronize());
  EXPECT_TRUE(*receive->arrived(0, 1));
  EXPECT_FALSE(*receive->arrived(3, 3));
  EXPECT_FALSE(*receive->test());
  EXPECT_EQ(send->ready(3).result(), SENNIT_INVALID_ARGUMENT);
  EXPECT_TRUE(send->enqueue_ready(6, 9));
  EXPECT_TRUE(receive->wait());
  EXPECT_EQ(send->wait().result(), SENNIT_INVALID_ARGUMENT) << "of partition 3";
  EXPECT_STREQ(static_cast<const char*>(memory->data()), text);
  EXPECT_TRUE(receive->close());
}

TEST_F(FaceTest, EndsTheOldCommunicatorBeforeItsExchange) {
  const auto over = [](int& calls) {
    Options options;
    options.exchange = Exchange{0, 1, [&calls](const void* send, void* receive, std::size_t bytes) {
                                  std::memcpy(receive, send, bytes);
                                  return ++calls > 0;
                                }};
    return Communicator::create(options);
  };
  int first = 0, second = 0;
  Communicator kept = *over(first);
  Communicator other = *over(second);
  const int before = first;
  kept = std::move(other);
  EXPECT_GT(first, before) << "the end of the first went through its own exchange";
  const int then = second;
  EXPECT_TRUE(kept.barrier());
  EXPECT_GT(second, then);
}

TEST_F(FaceTest, FreesWhatItOwns) {
  sennit_comm* handle = nullptr;
  {
    auto made = Communicator::create();
    ASSERT_TRUE(made.ok());
    handle = made->handle();
    EXPECT_EQ(sennit_comm_check(handle), SENNIT_OK);
  }
  EXPECT_EQ(sennit_comm_check(handle), SENNIT_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace sennit
