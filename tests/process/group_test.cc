// Groups of several processes: nodes, the control segment, files.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job.h"

namespace sennit::comm {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

Variables two_nodes() {
  return [](int rank) { return std::map<std::string, std::string>{{"SENNIT_NODE", rank % 2 == 0 ? "even" : "odd"}}; };
}

TEST(Group, IsOneNodeOnOneHost) {
  const Job job = run_job(4, {"nodes"});
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(job.line(rank), "rank " + std::to_string(rank) + " node 0 1 2 3 leader 0 nodes 1");
}

TEST(Group, IsDividedBySennitNode) {
  const Job job = run_job(4, {"nodes"}, two_nodes());
  EXPECT_EQ(job.line(0), "rank 0 node 0 2 leader 0 nodes 2");
  EXPECT_EQ(job.line(1), "rank 1 node 1 3 leader 1 nodes 2");
  EXPECT_EQ(job.line(2), "rank 2 node 0 2 leader 0 nodes 2");
  EXPECT_EQ(job.line(3), "rank 3 node 1 3 leader 1 nodes 2");
}

TEST(Group, OfOneRankNeedsNobody) {
  EXPECT_EQ(run_job(1, {"nodes"}).line(0), "rank 0 node 0 leader 0 nodes 1");
}

TEST(Group, SharesTheControlSegment) {
  const Job job = run_job(4, {"control"});
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(job.line(rank), "counted 10");
}

TEST(Group, CarriesWordsBetweenAnyRanksOfAnyNodes) {
  // Of five ranks on three nodes some have two leaders between them.
  const Job job = run_job(5, {"words"}, [](int rank) {
    return std::map<std::string, std::string>{{"SENNIT_NODE", fmt::format("n{}", rank % 3)}};
  });
  for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(job.line(rank), "heard all in order");
}

TEST(Group, PassesFilesBetweenAllRanks) {
  const Job job = run_job(4, {"files"});
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(job.line(rank), "passed; unknown: not_found; withdrawn: not_found");
}

TEST(Group, IsMadeInWellUnderATenthOfASecond) {
  const Job job = run_job(4, {"create_time"});
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  EXPECT_THAT(job.line(0), MatchesRegex("created in [0-9]+ ms"));
#else
  EXPECT_THAT(job.line(0), MatchesRegex("created in [0-9][0-9]? ms"));
#endif
}

TEST(Group, LeavesNoFilesThreadsOrMappingsBehind) {
  const Job job = run_job(3, {"cycles", "200"});
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(job.line(rank), "files 0 threads 0 mappings 0");
}

TEST(Group, LeavesNothingBehindAcrossNodes) {
  const Job job = run_job(4, {"cycles", "20"}, two_nodes());
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(job.line(rank), "files 0 threads 0 mappings 0");
}

TEST(Group, TellsWhatThePeerDidLastWhenAWaitTimesOut) {
  const std::string text = run_job(2, {"timeout"}).line(0);
  for (const char* part : {"timed_out", "put did not go on within 0.3 s", "sequence 42", "rank 0", "peer 1", "1 MiB",
                           "rank 1 did last: allgather ring, sequence 41, peer 0, 4 KiB"})
    EXPECT_THAT(text, HasSubstr(part));
}

}  // namespace
}  // namespace sennit::comm
