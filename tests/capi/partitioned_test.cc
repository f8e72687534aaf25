// Partitioned messages over the C API. What the protocol does in every order: tests/path/partitioned_test.cc.
#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alone.h"
#include "jobs.h"

namespace sennit::capi {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(PartitionedJobs, MoveEveryByteInEveryWay) {
  for (const int ranks : {2, 4}) {
    const comm::Job job = run_ranks(ranks, {"partitioned_ring", "24"});
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(job.line(rank), "all right") << rank;
  }
}

TEST(PartitionedJobs, BringWhatIsReadyThoughTheRestNeverIs) {
  const comm::Job job = run_ranks(2, {"partitioned_early"});
  ASSERT_EQ(job.lines[1].size(), 6u) << job.line(1);
  EXPECT_EQ(job.lines[1][0], "early");
  EXPECT_EQ(job.lines[1][1], "the other: false");
  EXPECT_THAT(job.lines[1][2],
              AllOf(HasSubstr("start 1 is not over"), HasSubstr("receive of 2 × 4 KiB from rank 0")));
  for (const auto& lines : job.lines) {
    EXPECT_THAT(lines[lines.size() - 3], AllOf(StartsWith("wait: aborted: rank 1 aborted: never ready")));
    EXPECT_THAT(lines[lines.size() - 2], HasSubstr("aborted"));
    EXPECT_EQ(lines.back(), "free then: ok");
  }
}

TEST(PartitionedJobs, EndWithARankThatIsKilled) {
  const comm::Job job = run_ranks(3, {"partitioned_killed"});
  for (const int rank : {0, 2}) {
    ASSERT_EQ(job.lines[std::size_t(rank)].size(), 2u) << job.line(rank);
    EXPECT_THAT(job.lines[std::size_t(rank)][0], StartsWith("within 5 s: peer_lost: rank 1 died"));
    EXPECT_EQ(job.lines[std::size_t(rank)][1], "free: ok");
  }
}

TEST(PartitionedJobs, NameWhatDoesNotFitOrIsMissing) {
  const comm::Job job = run_ranks(2, {"partitioned_refused"});
  for (const auto& lines : job.lines) {
    EXPECT_THAT(lines.at(0), AllOf(StartsWith("unequal: mismatch: "), HasSubstr("18 × 5 B"), HasSubstr("5 × 17 B")));
    EXPECT_EQ(lines.at(1), "free unequal: ok");
    EXPECT_THAT(lines.back(), HasSubstr("one is no partitioned message"));
  }
  const auto& sender = job.lines[0];
  ASSERT_EQ(sender.size(), 7u);
  EXPECT_THAT(sender[2], AllOf(StartsWith("not ready: timed_out: "), HasSubstr("partition 8 was not made ready")));
  EXPECT_THAT(sender[3],
              AllOf(StartsWith("twice: invalid_argument: "), HasSubstr("partition 3 is ready twice in start 1")));
  EXPECT_THAT(sender[4], AllOf(StartsWith("not started: timed_out: "), HasSubstr("rank 1 has not started its end"),
                               HasSubstr("partition 3 is ready twice")));
  EXPECT_THAT(sender[5], AllOf(StartsWith("at last: invalid_argument: "), HasSubstr("partition 3 is ready twice")));
  EXPECT_EQ(job.lines[1].at(2), "at last: ok");
}

TEST(PartitionedJobs, NeedMemoryThatTheOtherRankCanMap) {
  EXPECT_THAT(run_ranks(2, {"partitioned_unreachable"}, {{"SENNIT_IPC", "0"}}).line(0),
              AllOf(StartsWith("unsupported: "), HasSubstr("Unset SENNIT_IPC")));
  const auto nodes = [](int rank) {
    return std::map<std::string, std::string>{{"SENNIT_NODE", rank == 1 ? "b" : "a"}};
  };
  EXPECT_THAT(run_ranks(2, {"partitioned_unreachable"}, {}, nodes).line(0),
              AllOf(StartsWith("unsupported: "), HasSubstr("rank 1 is on another node")));
}

class PartitionedTest : public Alone {
 protected:
  void SetUp() override {
    Alone::SetUp();
    ASSERT_EQ(sennit_memory_allocate(comm, 100, &data), SENNIT_OK);
  }
  std::string refused(sennit_result result, sennit_result expected = SENNIT_INVALID_ARGUMENT) {
    EXPECT_EQ(result, expected);
    return sennit_last_error();
  }

  void* data = nullptr;
  sennit_partitioned* one = nullptr;
};

TEST_F(PartitionedTest, GoToOneself) {
  char text[] = "every path";
  sennit_partitioned* ends[2] = {};
  ASSERT_EQ(sennit_send_partitioned(comm, text, sizeof text, 1, 0, 5, &ends[0]), SENNIT_OK) << sennit_last_error();
  ASSERT_EQ(sennit_receive_partitioned(comm, data, 1, sizeof text, 0, 5, &ends[1]), SENNIT_OK) << sennit_last_error();
  for (int start = 0; start < 3; ++start) {
    ASSERT_EQ(sennit_partitioned_start(ends, 2), SENNIT_OK) << sennit_last_error();
    text[0] = char('a' + start);
    ASSERT_EQ(sennit_partitioned_ready(ends[0], 0, sizeof text - 1), SENNIT_OK) << sennit_last_error();
    ASSERT_EQ(sennit_partitioned_wait(ends, 2), SENNIT_OK) << sennit_last_error();
    EXPECT_STREQ(static_cast<const char*>(data), text);
  }
  EXPECT_EQ(sennit_partitioned_free(ends[1]), SENNIT_OK) << sennit_last_error();
  EXPECT_EQ(sennit_partitioned_free(ends[0]), SENNIT_OK) << sennit_last_error();
}

TEST_F(PartitionedTest, ErrorsNameWhatIsWrongAndTheRemedy) {
  const auto send = [&](const void* from, std::uint32_t partitions, std::uint64_t each, int peer) {
    return refused(sennit_send_partitioned(comm, from, partitions, each, peer, 0, &one));
  };
  const auto receive = [&](void* to, std::uint32_t partitions, std::uint64_t each) {
    return refused(sennit_receive_partitioned(comm, to, partitions, each, 0, 0, &one));
  };
  char pageable[8] = {};
  EXPECT_THAT(send(data, 0, 1, 0), HasSubstr("a message of 0 partitions (partitioned send)"));
  EXPECT_THAT(send(data, 101, 1, 0), HasSubstr("reach beyond the allocation"));
  EXPECT_THAT(send(data, 16, std::uint64_t{1} << 60, 0), HasSubstr("more bytes than an address can count"));
  EXPECT_THAT(send(nullptr, 1, 1, 0), HasSubstr("null pointer"));
  EXPECT_THAT(send(data, 1, 1, 1), HasSubstr("there is no rank 1 (partitioned send). Ranks are 0 to 0"));
  EXPECT_THAT(send(pageable, 1, std::uint64_t{1} << 60, 0), HasSubstr("cannot be read"));
  EXPECT_THAT(receive(pageable, 1, 8), HasSubstr("is pageable host memory"));
  EXPECT_THAT(receive(data, 2, 51), HasSubstr("reach beyond the allocation"));
  EXPECT_THAT(refused(sennit_send_partitioned(comm, data, 1, 1, 0, 0, nullptr)), HasSubstr("one is null"));
  EXPECT_THAT(refused(sennit_partitioned_start(nullptr, 1)), HasSubstr("all is null"));
  EXPECT_THAT(refused(sennit_partitioned_start(&one, -1)), HasSubstr("-1 messages"));
  EXPECT_THAT(refused(sennit_partitioned_wait(&one, 1)), HasSubstr("all[0] is null"));
  EXPECT_EQ(sennit_partitioned_free(nullptr), SENNIT_OK);
}

TEST_F(PartitionedTest, EachEndHasFunctionsOfItsOwn) {
  sennit_partitioned *send = nullptr, *receive = nullptr;
  ASSERT_EQ(sennit_send_partitioned(comm, data, 2, 4, 0, 0, &send), SENNIT_OK) << sennit_last_error();
  ASSERT_EQ(sennit_receive_partitioned(comm, data, 2, 4, 0, 1, &receive), SENNIT_OK) << sennit_last_error();
  int found = 7;
  EXPECT_THAT(refused(sennit_partitioned_arrived(send, 0, 0, &found)), HasSubstr("Ask the end that receives"));
  EXPECT_THAT(refused(sennit_partitioned_enqueue_await(send, 0, 0, nullptr)), HasSubstr("Ask the end that receives"));
  EXPECT_THAT(refused(sennit_partitioned_ready(receive, 0, 0)), HasSubstr("one receives"));
  EXPECT_THAT(refused(sennit_partitioned_ready_list(receive, nullptr, 0)), HasSubstr("one receives"));
  EXPECT_THAT(refused(sennit_partitioned_ready_list(send, nullptr, 1)), HasSubstr("which is null"));
  EXPECT_THAT(refused(sennit_partitioned_enqueue_ready(send, 0, 0, data)), HasSubstr("no foreign streams"));
  EXPECT_THAT(refused(sennit_partitioned_enqueue_await(receive, 0, 0, nullptr)), HasSubstr("was not started"));
  EXPECT_THAT(refused(sennit_partitioned_arrived(receive, 1, 2, &found)), HasSubstr("partitions 1 to 2"));
  EXPECT_THAT(refused(sennit_partitioned_arrived(receive, 1, 0, &found)), HasSubstr("partitions 1 to 0"));
  EXPECT_THAT(refused(sennit_partitioned_arrived(receive, 0, ~std::uint32_t{0}, &found)),
              HasSubstr("Partitions are"));
  EXPECT_THAT(refused(sennit_partitioned_arrived(receive, 0, 0, nullptr)), HasSubstr("arrived is null"));
  EXPECT_THAT(refused(sennit_partitioned_test(&receive, 1, nullptr)), HasSubstr("done is null"));
  EXPECT_EQ(found, 7);
  EXPECT_EQ(sennit_partitioned_arrived(receive, 0, 1, &found), SENNIT_OK);
  EXPECT_EQ(found, 1) << "of an end without a start";
  ASSERT_EQ(sennit_partitioned_start(&send, 1), SENNIT_OK);
  EXPECT_THAT(refused(sennit_partitioned_start(&send, 1)), HasSubstr("start 1 is not over"));
  EXPECT_THAT(refused(sennit_partitioned_free(send)), HasSubstr("start 1 is not over"));
  EXPECT_EQ(sennit_partitioned_test(&send, 1, &found), SENNIT_OK);
  EXPECT_EQ(found, 0);
  EXPECT_EQ(sennit_partitioned_free(receive), SENNIT_OK);
  EXPECT_THAT(refused(sennit_partitioned_free(receive)), HasSubstr("It was destroyed before"));
}

}  // namespace
}  // namespace sennit::capi
