// Collectives between processes on the host executor, as programs call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs.h"

namespace sennit::capi {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::vector<std::string> kAllreduces = {"allreduces", "0", "1", "5", "1000", "1025", "300001"};

void expect_right(const comm::Job& job) {
  for (int rank = 0; rank < int(job.lines.size()); ++rank) EXPECT_EQ(job.line(rank), "all right") << "rank " << rank;
  EXPECT_EQ(job.ended.status, 0);
}

TEST(CollectiveJob, AllreducesOfAnyRanks) {
  for (const int ranks : {1, 2, 3, 4}) expect_right(run_ranks(ranks, kAllreduces));
}

TEST(CollectiveJob, EveryOperationOfAnyRanks) {
  for (const int ranks : {1, 2, 5}) expect_right(run_ranks(ranks, {"family", "1", "7", "1000", "40001"}));
}

TEST(CollectiveJob, BetweenSymmetricWindows) {
  for (const int ranks : {1, 2, 4}) expect_right(run_ranks(ranks, {"between_windows", "1", "1000", "300001"}));
}

TEST(CollectiveJob, WindowsThatCannotBeMappedAreNoUseButNoHarm) {
  expect_right(run_ranks(3, {"between_windows", "1000"}, {{"SENNIT_IPC", "0"}}));
}

TEST(CollectiveJob, RanksRegisterAlike) {
  const comm::Job job = run_ranks(2, {"bad_windows"});
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_THAT(job.lines.at(std::size_t(rank)),
                testing::ElementsAre(
                    AllOf(StartsWith("lengths: invalid_argument"), HasSubstr("has registered")), "again: ok",
                    AllOf(StartsWith("crosswise: mismatch"), HasSubstr("deregisters window")), "after: all right",
                    AllOf(StartsWith("kinds: mismatch"), HasSubstr("sennit_register_symmetric"))));
}

TEST(CollectiveJob, RandomOperationsOnSeveralCommunicators) {
  expect_right(run_ranks(4, {"soak", "12", "20261122"}));
}

TEST(CollectiveJob, ABarrierOrdersWhatWasPut) {
  expect_right(run_ranks(3, {"stream_barrier"}));
}

TEST(CollectiveJob, WhereMemoryCannotBeSharedScratchIsInHostMemory) {
  expect_right(run_ranks(3, kAllreduces, {{"SENNIT_IPC", "0"}}));
}

TEST(CollectiveJob, TheLowestRanksScratchCounts) {
  expect_right(run_ranks(2, kAllreduces, {}, [](int rank) -> std::map<std::string, std::string> {
    return {{"SENNIT_SCRATCH", rank == 0 ? "20M" : "64M"}};
  }));
}

TEST(CollectiveJob, ScratchTooSmallIsNamed) {
  const comm::Job job = run_ranks(2, kAllreduces, {{"SENNIT_SCRATCH", "1M"}});
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_THAT(job.line(rank), AllOf(HasSubstr("1 MiB of scratch are too few"), HasSubstr("SENNIT_SCRATCH")));
}

TEST(CollectiveJob, TwoCommunicatorsInTwoThreads) {
  expect_right(run_ranks(3, {"two_communicators"}));
}

TEST(CollectiveJob, BadInputIsNamedAndHarmless) {
  const comm::Job job = run_ranks(2, {"bad_collectives"});
  const std::pair<std::string, const char*> expected[] = {{"null input", "input is null"},
                                                          {"null output", "output is null"},
                                                          {"overlap", "overlap"},
                                                          {"too long", "reach beyond the memory"},
                                                          {"endless", "more than any memory"},
                                                          {"no type", "there is no type 14"},
                                                          {"no operator", "there is no operator -1"},
                                                          {"bits of a float", "bit_and is not for float32"},
                                                          {"no scale", "scale is null"},
                                                          {"root below", "there is no rank -1"},
                                                          {"root above", "there is no rank 2"},
                                                          {"gather too long", "reach beyond the memory"},
                                                          {"gather overlaps", "overlap"},
                                                          {"gather into null", "output is null"},
                                                          {"null offsets", "send_offsets is null"},
                                                          {"self differs", "sends itself 1 elements and receives 2"},
                                                          {"messages overlap", "and the one from rank"}};
  for (int rank = 0; rank < 2; ++rank) {
    for (const auto& [topic, text] : expected)
      EXPECT_THAT(job.lines.at(std::size_t(rank)),
                  testing::Contains(AllOf(StartsWith(topic + ": invalid_argument"), HasSubstr(text))))
          << topic;
    EXPECT_THAT(job.lines.at(std::size_t(rank)), testing::IsSupersetOf({"nothing: ok", "own message stays: ok",
                                                                        "gathers: 10", "scaled: ok", "gives: 1.5"}));
  }
}

TEST(CollectiveJob, ARankThatDoesNotComeIsNamedOnAllRanks) {
  const comm::Job job = run_ranks(3, {"missing_rank"});
  // Who notices first ends the communicator for the others, with what it saw.
  for (const int rank : {0, 2})
    EXPECT_THAT(job.line(rank),
                AllOf(StartsWith("waited: "), HasSubstr("allreduce 3 waited longer than its limit for rank 1")))
        << "rank " << rank;
  EXPECT_THAT(job.line(1), AllOf(StartsWith("came late: "), HasSubstr("rank 1"), HasSubstr("allreduce")));
}

TEST(CollectiveJob, ARankThatCallsAnotherOperationIsNamed) {
  const comm::Job job = run_ranks(3, {"other_operation"});
  std::string all;
  for (int rank = 0; rank < 3; ++rank) all += job.line(rank) + "\n";
  EXPECT_THAT(all, testing::AnyOf(HasSubstr("allgather 3 waited longer than its limit for rank 1 (which called "
                                            "barrier instead)"),
                                  HasSubstr("which called allgather instead")));
}

}  // namespace
}  // namespace sennit::capi
