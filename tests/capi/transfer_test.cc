// Messages between ranks on the host executor: what users get, byte for byte, over one path and over several.
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs.h"

namespace sennit::capi {
namespace {

using testing::HasSubstr;

void expect_all(const comm::Job& job, const std::string& line) {
  for (int rank = 0; rank < int(job.lines.size()); ++rank) EXPECT_EQ(job.line(rank), line) << "rank " << rank;
  EXPECT_EQ(job.ended.status, 0);
}

const std::vector<std::string> kSizes = {"0", "1", "4097", "1048576", "5242893"};

std::vector<std::string> transfers(const std::string& memory) {
  std::vector<std::string> scenario = {"transfers", memory};
  scenario.insert(scenario.end(), kSizes.begin(), kSizes.end());
  return scenario;
}

class Transfer : public testing::TestWithParam<std::tuple<int, std::string>> {};

TEST_P(Transfer, OverTheDirectPath) {
  const auto [ranks, memory] = GetParam();
  expect_all(run_ranks(ranks, transfers(memory)), "all right; host path not used");
}

TEST_P(Transfer, OverTwoPaths) {
  const auto [ranks, memory] = GetParam();
  // From host memory there is no staged path to split to: those messages go whole.
  const std::string used = memory == std::string("device") ? "used" : "not used";
  expect_all(run_ranks(ranks, transfers(memory), {{"SENNIT_SPLIT", kBothPaths}}), "all right; host path " + used);
}

TEST_P(Transfer, OverTheHostWhereMemoryCannotBeShared) {
  const auto [ranks, memory] = GetParam();
  expect_all(run_ranks(ranks, transfers(memory), {{"SENNIT_IPC", "0"}}), "all right; host path used");
}

INSTANTIATE_TEST_SUITE_P(RanksAndMemory, Transfer,
                         testing::Values(std::tuple(2, "device"), std::tuple(4, "device"), std::tuple(2, "pinned"),
                                         std::tuple(2, "pageable")));

TEST(Transfers, OfOneRankStayInOrder) {
  for (const char* split : {"", kBothPaths})
    expect_all(run_ranks(2, {"order"}, {{"SENNIT_SPLIT", split}}), "the last one");
}

TEST(Transfers, AGetFetchesWhatThePutBeforeItBrought) {
  const std::vector<std::string> echo = {"echo", "8388608", "6"};
  expect_all(run_ranks(2, echo), "0 of 6 echoes wrong");
  expect_all(run_ranks(2, echo, {{"SENNIT_SPLIT", kBothPaths}}), "0 of 6 echoes wrong");
  expect_all(run_ranks(2, echo, {{"SENNIT_IPC", "0"}}), "0 of 6 echoes wrong");
}

TEST(Transfers, SayOnRequestWhyMemoryIsNotShared) {
  const comm::Job job = run_ranks(2, {"transfers", "device", "4097"}, {{"SENNIT_IPC", "0"}, {"SENNIT_LOG", "info"}});
  const std::string all = testing::PrintToString(job.lines);
  EXPECT_THAT(all, HasSubstr("rank 1's part of window 1 is not mapped here"));
  EXPECT_THAT(all, HasSubstr("SENNIT_IPC=0"));
  const comm::Job wrong = run_ranks(2, {"transfers", "device", "1"}, {{"SENNIT_LOG", "loud"}});
  EXPECT_THAT(wrong.line(0), HasSubstr("SENNIT_LOG='loud' is no level"));
}

TEST(Transfers, FromSeveralThreadsDoNotMix) {
  expect_all(run_ranks(2, {"threads", "300000", "40"}, {{"SENNIT_IPC", "0"}}), "all right; host path used");
}

TEST(Transfers, OfTwoCommunicatorsAtOnce) {
  for (const char* split : {"", kBothPaths})
    expect_all(run_ranks(3, {"two"}, {{"SENNIT_SPLIT", split}}), "all right");
}

TEST(Transfers, OfTwoJobsAtOnce) {
  const auto echoes = [] { return run_ranks(2, {"echo", "8388608", "6"}, {{"SENNIT_SPLIT", kBothPaths}}); };
  auto second = std::async(std::launch::async, echoes);
  expect_all(echoes(), "0 of 6 echoes wrong");
  expect_all(second.get(), "0 of 6 echoes wrong");
}

TEST(Transfers, BetweenNodesAreRefusedWithAReason) {
  const comm::Job job = run_ranks(2, {"shape"}, {}, [](int rank) {
    return std::map<std::string, std::string>{{"SENNIT_NODE", std::to_string(rank)}};
  });
  EXPECT_THAT(job.line(0), HasSubstr("put: unsupported: rank 1 is on another node (put 8 B to rank 1)"));
}

}  // namespace
}  // namespace sennit::capi
