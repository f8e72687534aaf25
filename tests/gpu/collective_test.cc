// Collectives between processes on GPUs; each rank has one of its own.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "device/reduction.h"
#include "device/type.h"
#include "gpu_jobs.h"
#include "places.h"

namespace sennit::gpu {
namespace {

/// Each rank needs a GPU: kernels of two ranks on one would take turns, and wait for each other for ever.
class GpuCollectives : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus() < 2) GTEST_SKIP() << "collectives need two GPUs";
  }
};

TEST_F(GpuCollectives, OfAnySizeInAnyMemory) {
  for (const char* kind : {"malloc", "vmm", "pool", "segments", "managed", "pinned"})
    expect_all_right(run_on_gpus(gpus(), {"allreduces", kind, "1", "1000", "65537", "300001", "4194304"}));
}

TEST_F(GpuCollectives, OfEveryNumberOfRanks) {
  for (int ranks = 2; ranks <= gpus(); ++ranks)
    expect_all_right(run_on_gpus(ranks, {"allreduces", "malloc", "3", "4099", "1000003"}));
}

TEST_F(GpuCollectives, EveryOperation) {
  for (int ranks = 2; ranks <= gpus(); ++ranks)
    expect_all_right(run_on_gpus(ranks, {"family", "1", "1000", "65537", "1000003"}));
}

class GpuNumbers : public GpuCollectives, public testing::WithParamInterface<device::Type> {};

/// The benchmark verifies every plan before it times it. Each type with its sum, where products and extremes of
/// others and averages take turns; those whose loops sums share, all of them.
TEST_P(GpuNumbers, AreRightByEveryAlgorithm) {
  constexpr std::array others{"max", "average", "premultiplied_sum", "product", "min"};
  const auto types = device::all_types();
  const auto turn = static_cast<std::size_t>(std::ranges::find(types, GetParam()) - types.begin());
  const bool is_fast = device::is_fast({GetParam(), device::Operator::sum});
  for (const std::string& op : is_fast ? std::vector<std::string>{"sum", "average", "premultiplied_sum"}
                                       : std::vector<std::string>{"sum", others[turn % others.size()]}) {
    const std::string command =
        places::built("sennit-bench-collective") +
        " --executor cuda --operations allreduce,reduce_scatter,reduce --algorithms all"
        " --blocks 4 --registered --sizes 4K,300008 --seconds 0.001 --nccl /nonexistent --type " +
        std::string(device::name(GetParam())) + " --op " + op + " > /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, GpuNumbers, testing::ValuesIn(device::all_types()),
                         [](const auto& each) { return std::string(device::name(each.param)); });

TEST_F(GpuCollectives, RandomOperationsOnTwoStreamsAndAsGraphs) {
  expect_all_right(run_on_gpus(gpus(), {"soak", "60", "20261122"}));
}

TEST_F(GpuCollectives, WhereMemoryCannotBeSharedScratchIsInHostMemory) {
  expect_all_right(run_on_gpus(gpus(), {"allreduces", "malloc", "3", "4099", "1000003"}, {{"SENNIT_IPC", "0"}}));
}

TEST_F(GpuCollectives, GraphsReplayInTurnBetweenEagerCalls) {
  for (const char* count : {"100", "100000", "3000000"})
    expect_all_right(run_on_gpus(gpus(), {"allreduce_graphs", count, "8"}));
}

TEST_F(GpuCollectives, TwoStreamsInTurn) {
  expect_all_right(run_on_gpus(gpus(), {"allreduce_streams", "2000"}));
}

TEST_F(GpuCollectives, AnEarlyLaunchWaitsForCopiesOnOtherStreams) {
  expect_all_right(run_on_gpus(gpus(), {"allreduce_behind_a_copy", "40"}));
}

TEST_F(GpuCollectives, OfPartsOfACommunicator) {
  expect_all_right(run_on_gpus(gpus(), {"allreduce_parts", "3", "1000", "1000003"}));
}

TEST_F(GpuCollectives, BetweenSymmetricWindows) {
  for (const char* kind : {"malloc", "vmm", "shared_pool"})
    expect_all_right(run_on_gpus(gpus(), {"between_windows", kind, "5", "4099", "300001", "8388608"}));
}

TEST_F(GpuCollectives, OnTwoStreamsOfOneCapture) {
  for (const char* count : {"100", "100000", "3000000"})
    expect_all_right(run_on_gpus(gpus(), {"captured_on_two_streams", count}));
}

TEST_F(GpuCollectives, CapturedWhileOthersAreCalled) {
  for (const char* count : {"1000", "16777216"})
    expect_all_right(run_on_gpus(gpus(), {"captures_beside_calls", count}));
}

TEST_F(GpuCollectives, ReplaysOfGraphsBesideEachOtherAndBesideCalls) {
  for (const char* count : {"100", "100000", "3000000"})
    expect_all_right(run_on_gpus(gpus(), {"replays_beside_calls", count, "20"}));
}

TEST_F(GpuCollectives, ACommunicatorEndsBehindTheReplaysOfItsGraphs) {
  expect_all_right(run_on_gpus(gpus(), {"ends_behind_a_replay", "300000"}));
}

TEST_F(GpuCollectives, WindowsThatCannotBeMappedAreNoUseButNoHarm) {
  expect_all_right(run_on_gpus(gpus(), {"between_windows", "malloc", "4099"}, {{"SENNIT_IPC", "0"}}));
}

/// compute-sanitizer's memcheck on every rank. It slows kernels down a hundredfold, so messages are small.
TEST_F(GpuCollectives, TouchNoMemoryBesideTheirOwn) {
  if (std::system("compute-sanitizer --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no compute-sanitizer here";
  const std::vector<std::string> tool = {"compute-sanitizer", "--error-exitcode", "9", "--require-cuda-init", "no"};
  for (const std::vector<std::string>& scenario : {std::vector<std::string>{"family", "1000"},
                                                   {"between_windows", "malloc", "4099"},
                                                   {"allreduces", "malloc", "65537"}}) {
    const comm::Job job = run_on_gpus(gpus(), scenario, {{"SENNIT_TIMEOUT", "120"}}, tool);
    EXPECT_EQ(job.ended.status, 0);
    for (int rank = 0; rank < gpus(); ++rank)
      EXPECT_THAT(job.lines.at(std::size_t(rank)),
                  testing::IsSupersetOf({testing::HasSubstr("all right"), testing::HasSubstr("ERROR SUMMARY: 0")}))
          << "rank " << rank;
  }
}

TEST_F(GpuCollectives, ADeathIsNoticedWithinFiveSeconds) {
  const comm::Job job = run_on_gpus(gpus(), {"allreduce_killed", "1"});
  const std::string line = job.line(0);
  ASSERT_THAT(line, testing::AllOf(testing::StartsWith("after "), testing::HasSubstr("rank 1 died")));
  EXPECT_LT(std::stoi(line.substr(6)), 5400) << "it died after 400 ms";
}

}  // namespace
}  // namespace sennit::gpu
