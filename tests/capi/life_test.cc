// Communicators come and go, and leave nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "jobs.h"

namespace sennit::capi {
namespace {

TEST(Life, OfFiftyCommunicatorsLeavesNoFilesAndThreads) {
  for (const char* split : {"", kBothPaths}) {
    const comm::Job job = run_ranks(2, {"cycles", "50"}, {{"SENNIT_SPLIT", split}});
    for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(job.line(rank), "files 0 threads 0");
  }
}

TEST(Life, GivesRanksDevicesInTurn) {
  const comm::Job job = run_ranks(3, {"shape"}, {{"SENNIT_HOST_DEVICES", "2"}});
  EXPECT_EQ(job.lines[0].front(), "rank 0 of 3 device 0 node 3 same 111");
  EXPECT_EQ(job.lines[1].front(), "rank 1 of 3 device 1 node 3 same 111");
  EXPECT_EQ(job.lines[2].front(), "rank 2 of 3 device 0 node 3 same 111");
}

TEST(Life, KnowsItsNode) {
  const comm::Job job = run_ranks(3, {"shape"}, {}, [](int rank) {
    return std::map<std::string, std::string>{{"SENNIT_NODE", rank == 1 ? "b" : "a"}};
  });
  EXPECT_EQ(job.lines[0].front(), "rank 0 of 3 device 0 node 2 same 101");
  EXPECT_EQ(job.lines[1].front(), "rank 1 of 3 device 0 node 1 same 010");
  EXPECT_EQ(job.lines[2].front(), "rank 2 of 3 device 1 node 2 same 101");
}

TEST(Life, ThroughAnExchangeOfTheCallers) {
  // The job has one rank, which makes the others itself.
  for (const char* ipc : {"1", "0"}) {
    const comm::Job job = run_ranks(1, {"exchange", "4"}, {{"SENNIT_IPC", ipc}});
    ASSERT_EQ(job.lines[0].size(), 5u) << job.line(0);
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_THAT(job.lines[0], testing::Contains("rank " + std::to_string(rank) + " of 4: all right"));
    EXPECT_EQ(job.lines[0].back(), "failures 0");
  }
}

TEST(Life, OfPartsOfACommunicator) {
  const comm::Job job = run_ranks(4, {"split"});
  const int half[] = {1, 1, 0, 0}, sum[] = {2, 4, 2, 4};
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<std::string> lines = {fmt::format("half: rank {} of 2, sum {}", half[rank], sum[rank]),
                                      fmt::format("all: rank {} of 4, sum 6", rank)};
    if (rank != 0) lines.push_back(fmt::format("others: rank {} of 3, sum 6", rank - 1));
    for (const char* what : {"again", "last"})
      lines.push_back(fmt::format("{}: rank {} of 2, sum {}", what, half[rank], sum[rank]));
    EXPECT_EQ(job.lines[std::size_t(rank)], lines) << rank;
  }
}

TEST(Life, OfPartsEndsAtTheNode) {
  const comm::Job job = run_ranks(3, {"split_all"}, {}, [](int rank) {
    return std::map<std::string, std::string>{{"SENNIT_NODE", rank == 1 ? "b" : "a"}};
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(job.lines[rank].size(), 2u);
    EXPECT_THAT(job.lines[rank][0], testing::HasSubstr("ranks 0 and 1 give color 0 and are on different nodes"));
  }
  EXPECT_EQ(job.lines[0][1], "rank 0 of 2");
  EXPECT_EQ(job.lines[1][1], "rank 0 of 1");
  EXPECT_EQ(job.lines[2][1], "rank 1 of 2");
}

}  // namespace
}  // namespace sennit::capi
