#include "bench/partitioned/trial.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up_link.h"

namespace sennit::bench::partitioned {
namespace {

using testing::HasSubstr;

Cell cell_of(BackEnd back_end, int threads, int partitions, bool cold = false) {
  Cell cell;
  cell.back_end = back_end;
  cell.plan.crew = {threads, partitions};
  cell.plan.bytes = 4096;
  cell.plan.compute_us = 50;
  cell.cold = cold;
  return cell;
}

/// Both ranks, in threads of this process. `messages`: how many the sender has sent.
Result<Samples> measured(const Cell& cell, MadeUpWire& wire, int* messages = nullptr) {
  Options options;
  options.seconds = 0.001;
  MadeUpLink first(wire, 0), second(wire, 1);
  int count = 0;
  Trial sender(first, options, [&] { ++count; }), receiver(second, options, [] {});
  std::thread other([&] { EXPECT_TRUE(receiver.measure(cell, Compute::slept)); });
  auto samples = sender.measure(cell, Compute::slept);
  other.join();
  if (messages != nullptr) *messages = count;
  return samples;
}

TEST(Trial, PartitionsTakeTurnsWithWholeMessages) {
  MadeUpWire wire;
  int messages = 0;
  const auto samples = measured(cell_of(BackEnd::mpi, 2, 4), wire, &messages);
  ASSERT_TRUE(samples) << samples.status().text();
  EXPECT_GE(samples->own.size(), 7U);
  EXPECT_EQ(samples->own.size(), samples->single.size());
  EXPECT_EQ(std::size_t(messages), 2 * (samples->own.size() + 2)) << "two rounds are not timed";
  for (const Iteration& each : samples->own) {
    EXPECT_EQ(each.partitions.size(), 4U);
    EXPECT_TRUE(metrics_of(each));
    EXPECT_GE(each.joined_us, each.start_us + 50 - 1e-3);
    EXPECT_GE(each.end_us, each.partitions.front().arrived_us);
  }
  for (const Iteration& each : samples->single) {
    ASSERT_EQ(each.partitions.size(), 1U);
    EXPECT_GE(each.partitions.front().ready_us, each.joined_us) << "it is sent once all have joined";
  }
}

TEST(Trial, ABackEndThatSendsAllAtOnceHasOnePartition) {
  MadeUpWire wire;
  const auto samples = measured(cell_of(BackEnd::persistent, 2, 4), wire);
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->own.front().partitions.size(), 1U);
}

TEST(Trial, EveryByteOfEveryMessageIsCompared) {
  MadeUpWire wire;
  wire.spoils = [](std::byte* partition, int number) {
    if (number == 3) partition[7] ^= std::byte{1};
  };
  const auto samples = measured(cell_of(BackEnd::mpi, 1, 1), wire);
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.status().code(), Code::corrupt);
  EXPECT_THAT(samples.status().text(), HasSubstr("byte 7 of message"));
}

TEST(Trial, AMessageThatIsTheOneBeforeIsWrong) {
  MadeUpWire wire;
  // The first byte is as it was in the message before.
  wire.spoils = [](std::byte* partition, int number) {
    static std::byte kept{};
    if (number == 4) partition[0] = kept;
    kept = partition[0];
  };
  EXPECT_EQ(measured(cell_of(BackEnd::mpi, 1, 1), wire).status().code(), Code::corrupt);
}

}  // namespace
}  // namespace sennit::bench::partitioned
