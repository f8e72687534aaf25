#include "comm/wait.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thread_exchange.h"

namespace sennit::comm {
namespace {

using testing::HasSubstr;

TEST(WaitUntil, ReturnsAtOnceWhenReady) {
  int asked = 0;
  EXPECT_TRUE(wait_until([&] { return ++asked > 0; }, nullptr, {"put"}).ok());
  EXPECT_EQ(asked, 1);
}

TEST(WaitUntil, ReturnsOnceAnotherThreadMadeItReady) {
  std::atomic<bool> ready{false};
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(30));
    ready = true;
  });
  EXPECT_TRUE(wait_until([&] { return ready.load(); }, nullptr, {"put"}, std::chrono::seconds(20)).ok());
  other.join();
}

TEST(WaitUntil, NamesEverythingWhenItTimesOut) {
  const Clock::time_point start = Clock::now();
  const Status status = wait_until([] { return false; }, nullptr, {"put", 12, 0, 2, 1ull << 30}, milliseconds(100));
  EXPECT_GE(Clock::now() - start, milliseconds(100));
  EXPECT_EQ(status.code(), Code::timed_out);
  for (const char* part : {"put", "0.1 s", "sequence 12", "rank 0", "peer 2", "1 GiB", "SENNIT_TIMEOUT"})
    EXPECT_THAT(status.text(), HasSubstr(part));
}

TEST(WaitUntil, SaysWhenThePeerHasNotedNothing) {
  auto group = std::move(*Group::create(alone()));
  const Status status = wait_timed_out(group.get(), {"put", 1, 0, 0, 8}, milliseconds(1500));
  EXPECT_THAT(status.text(), HasSubstr("rank 0 has noted no operation yet"));
  EXPECT_THAT(status.text(), HasSubstr("within 1.5 s"));
}

TEST(WaitUntil, NotesWhatItWaitsFor) {
  auto group = std::move(*Group::create(alone()));
  (void)wait_until([] { return false; }, group.get(), {"get", 9, 0, -1, 77}, milliseconds(5));
  EXPECT_EQ(group->last_operation(0).name, "get");
  EXPECT_EQ(group->last_operation(0).sequence, 9u);
  EXPECT_EQ(group->last_operation(0).bytes, 77u);
}

TEST(WaitUntil, EndsWhenTheGroupIsAborted) {
  Table table(2);
  on_ranks(2, [&](int rank) {
    auto group = std::move(*Group::create(std::make_unique<ThreadExchange>(table, rank)));
    if (rank == 1) group->abort(Status(Code::device_error, "the GPU fell off the bus"));
    const Clock::time_point start = Clock::now();
    const Status status = wait_until([] { return false; }, group.get(), {"put", 1, rank, 1 - rank, 8});
    EXPECT_EQ(status.code(), Code::aborted);
    EXPECT_THAT(status.text(), HasSubstr("rank 1 aborted: the GPU fell off the bus"));
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
    EXPECT_TRUE(group->exchange().barrier().ok());
  });
}

// What is ready is ready, even if the group has failed meanwhile.
TEST(WaitUntil, PrefersWhatIsReadyToBadNews) {
  auto group = std::move(*Group::create(alone()));
  group->abort(Status(Code::corrupt, "x"));
  int asked = 0;
  EXPECT_TRUE(wait_until([&] { return ++asked == 258; }, group.get(), {"put"}).ok());
}

}  // namespace
}  // namespace sennit::comm
