// Communicators come and go, and leave nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sennit::capi
