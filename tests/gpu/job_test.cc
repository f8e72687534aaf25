// Jobs of two to four processes on GPUs, byte for byte. With fewer GPUs than ranks, ranks share them.
#include <signal.h>

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_jobs.h"

namespace sennit::gpu {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// What the window's memory and the local memory are.
class Kinds : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Kinds, ArriveWholeOverTheDirectPath) {
  const auto [window, local] = GetParam();
  expect_all_right(run_on_gpus(2, {"transfers", window, local, "2", "0", "1", "4099", "16777216", "50000003"}));
}

TEST(Windows, AreMappedWhereverMemoryCanBeShared) {
  for (const char* kind : {"malloc", "vmm", "segments", "shared_pool"})
    expect_all_right(run_on_gpus(2, {"transfers", kind, "malloc", "2", "1", "4099", "50000003"}),
                     "all right; host path not used");
  expect_all_right(run_on_gpus(2, {"transfers", "pool", "malloc", "1", "4099"}), "all right; host path used");
}

TEST_P(Kinds, ArriveWholeOverTwoPaths) {
  if (gpus() < 2) GTEST_SKIP() << kOneGpu;
  const auto [window, local] = GetParam();
  expect_all_right(run_on_gpus(2, {"transfers", window, local, "3", "1", "4099", "16777216", "50000003"},
                               {{"SENNIT_SPLIT", capi::kBothPaths}}));
}

TEST_P(Kinds, ArriveWholeWhereMemoryCannotBeShared) {
  const auto [window, local] = GetParam();
  if (local == "pageable") {
    expect_all_right(run_on_gpus(2, {"transfers", window, local, "1", "4099"}, {{"SENNIT_IPC", "0"}}),
                     "they cannot read pageable memory (put 4 KiB");
    return;
  }
  expect_all_right(run_on_gpus(2, {"transfers", window, local, "2", "1", "4099", "50000003"}, {{"SENNIT_IPC", "0"}}),
                   "all right; host path used");
}

INSTANTIATE_TEST_SUITE_P(Memory, Kinds,
                         testing::Values(std::tuple("malloc", "malloc"), std::tuple("malloc", "pool"),
                                         std::tuple("malloc", "managed"), std::tuple("malloc", "pinned"),
                                         std::tuple("malloc", "registered"), std::tuple("malloc", "pageable"),
                                         std::tuple("vmm", "vmm"), std::tuple("pool", "malloc"),
                                         std::tuple("segments", "segments"), std::tuple("shared_pool", "malloc")));

TEST(Transfers, BetweenFourRanks) {
  if (gpus() < 2) GTEST_SKIP() << kOneGpu;
  expect_all_right(run_on_gpus(4, {"transfers", "malloc", "malloc", "2", "4099", "67108864"},
                               {{"SENNIT_SPLIT", capi::kBothPaths}}));
}

TEST(Transfers, BeyondFourGigabytes) {
  if (gpus() < 2) GTEST_SKIP() << kOneGpu;
  expect_all_right(run_on_gpus(2, {"transfers", "malloc", "malloc", "1", "4294971395"},
                               {{"SENNIT_SPLIT", "direct=0.9,host0 (sm)=0.1"}, {"SENNIT_TIMEOUT", "60"}}));
}

TEST(Transfers, OfTwoJobsOnTheSameGpus) {
  if (gpus() < 2) GTEST_SKIP() << kOneGpu;
  const auto transfers = [] {
    return run_on_gpus(2, {"transfers", "malloc", "malloc", "4", "4099", "67108864"},
                       {{"SENNIT_SPLIT", capi::kBothPaths}});
  };
  auto second = std::async(std::launch::async, transfers);
  expect_all_right(transfers());
  expect_all_right(second.get());
}

TEST(Graphs, ReplayInTurn) {
  expect_all_right(run_on_gpus(2, {"graphs", "67108864", "8"}));
  expect_all_right(run_on_gpus(2, {"graphs", "4099", "8"}));
}

TEST(Graphs, ReplaySplitMessages) {
  if (gpus() < 2) GTEST_SKIP() << kOneGpu;
  expect_all_right(run_on_gpus(2, {"graphs", "67108864", "8"}, {{"SENNIT_SPLIT", "direct=0.9,host0 (engine)=0.1"}}));
}

TEST(Graphs, HoldSeveralMessagesAndDoNotMindPutsOfOtherThreads) {
  if (gpus() < 2) GTEST_SKIP() << kOneGpu;
  for (const char* split : {"direct=0.9,host0 (engine)=0.1", capi::kBothPaths})
    expect_all_right(run_on_gpus(2, {"captures", "67108864", "4"}, {{"SENNIT_SPLIT", split}}));
}

TEST(Registration, FollowsReallocationAtTheSameAddress) {
  for (const char* kind : {"malloc", "vmm"}) expect_all_right(run_on_gpus(2, {"reuse", kind, "6"}));
}

TEST(HostPath, GoesOnWhileRanksFreeMemory) {
  if (gpus() < 2) GTEST_SKIP() << kOneGpu;
  expect_all_right(run_on_gpus(2, {"frees", "20", "67108864"}, {{"SENNIT_SPLIT", capi::kBothPaths}}),
                   "all right; host path used");
}

class Killed : public testing::TestWithParam<std::string> {};

TEST_P(Killed, InAGigabytePutIsNoticedWithinFiveSeconds) {
  if (!GetParam().empty() && gpus() < 2) GTEST_SKIP() << kOneGpu;
  const comm::Job job = run_on_gpus(4, {"killed", "2", "1073741824"}, {{"SENNIT_SPLIT", GetParam()}});
  EXPECT_EQ(job.ended.statuses.at(2), 128 + SIGKILL);
  for (int rank = 0; rank < 4; ++rank) {
    if (rank == 2) continue;
    const std::string line = job.line(rank);
    ASSERT_THAT(line, testing::AllOf(StartsWith("after "), HasSubstr("peer_lost: rank 2 died")));
    EXPECT_LT(std::stoi(line.substr(6)), 5400) << "it died after 400 ms";
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, Killed, testing::Values("", capi::kBothPaths));

}  // namespace
}  // namespace sennit::gpu
