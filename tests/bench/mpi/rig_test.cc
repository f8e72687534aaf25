#include "bench/mpi/rig.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up_job.h"

namespace sennit::bench::mpi {
namespace {

using testing::HasSubstr;

const Case kAllreduce{Operation::allreduce, Buffers::host, 1024};
const Variant kOurs{kOwn, true, false}, kTheirs{"mpi", false, false};

/// What verify() says of an MPI that does so.
Status verified(const std::function<void(const Batch&)>& call, const Case& what = kAllreduce) {
  MadeUpJob job([&](const Batch& batch, int, double&) {
    call(batch);
    return Status();
  });
  const auto memories = Memories::of_host();
  Rig rig(job, *memories, kSum);
  if (auto status = rig.make_room({what}); !status) return status;
  return rig.verify(what, kOurs);
}

TEST(MpiRig, WhatIsRightPasses) {
  EXPECT_TRUE(verified(MadeUpJob::carry));
  for (const Operation operation : {Operation::allgather, Operation::alltoallv, Operation::reduce_scatter_block,
                                    Operation::gather, Operation::scatter, Operation::bcast, Operation::alltoallw})
    for (const bool in_place : {false, true})
      EXPECT_TRUE(verified(MadeUpJob::carry, {operation, Buffers::host, 1024, 1, in_place})) << name(operation);
}

TEST(MpiRig, AWrongByteIsNamedWithAllThatMatters) {
  const Status status = verified([](const Batch& batch) {
    MadeUpJob::carry(batch);
    batch.output[1000] ^= std::byte{1};
  });
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_EQ(status.what(), "byte 1000 of message 0 is wrong");
  EXPECT_EQ(status.where(), "allreduce of 1 KiB, host buffers by sennit: rank 0");
}

TEST(MpiRig, NothingWrittenIsWrong) {
  EXPECT_EQ(verified([](const Batch&) {}).code(), Code::corrupt);
}

TEST(MpiRig, BytesBehindTheOutputAreWrong) {
  const Status status = verified([](const Batch& batch) {
    MadeUpJob::carry(batch);
    batch.output[batch.layout.output_bytes() + 255] = std::byte{0};
  });
  EXPECT_EQ(status.what(), "bytes behind the output were written");
}

TEST(MpiRig, AnErrorOfACallIsPassedOn) {
  MadeUpJob job([](const Batch&, int, double&) { return Status(Code::system_error, "MPI_Allreduce returned 15"); });
  const auto memories = Memories::of_host();
  Rig rig(job, *memories, kSum);
  ASSERT_TRUE(rig.make_room({kAllreduce}));
  EXPECT_THAT(rig.verify(kAllreduce, kOurs).text(), HasSubstr("MPI_Allreduce returned 15"));
  EXPECT_FALSE(rig.time(kAllreduce, {kOurs}, 0.001));
}

TEST(MpiRig, VariantsTakeTurnsAndAreCompared) {
  int turns = 0;
  std::vector<bool> who;
  MadeUpJob job([&](const Batch& batch, int calls, double& us) {
    // Slower and slower, as a machine that warms; the drop-in takes 1 % more.
    us = calls * (100.0 + turns++ / 100) * (batch.with_sennit ? 1.01 : 1);
    who.push_back(batch.with_sennit);
    return Status();
  });
  const auto memories = Memories::of_host();
  Rig rig(job, *memories, kSum);
  ASSERT_TRUE(rig.make_room({kAllreduce}));
  const auto times = rig.time(kAllreduce, {kOurs, kTheirs}, 0.02);
  ASSERT_TRUE(times);
  ASSERT_EQ(times->size(), 2u);
  EXPECT_EQ((*times)[0].against.ratio, 0) << "nobody is compared with itself";
  EXPECT_NEAR((*times)[1].against.ratio, 1 / 1.01, 1e-3);
  EXPECT_EQ((*times)[0].summary.repetitions, (*times)[1].summary.repetitions);
  EXPECT_GE((*times)[0].summary.repetitions, 7);
  int alone = 0;
  for (std::size_t i = who.size() - 10; i + 2 < who.size(); ++i)
    alone += who[i] == who[i + 1] && who[i] == who[i + 2];
  EXPECT_EQ(alone, 0) << "never three batches of one";
}

TEST(MpiRig, WhatIsNotTimedTakesItsTimeToo) {
  MadeUpJob job([](const Batch&, int calls, double& us) {
    us = calls;
    return Status();
  });
  job.untimed_us = 999;
  const auto memories = Memories::of_host();
  Rig rig(job, *memories, kSum);
  ASSERT_TRUE(rig.make_room({kAllreduce}));
  const auto times = rig.time(kAllreduce, {kOurs}, 0.007);
  ASSERT_TRUE(times);
  EXPECT_EQ((*times)[0].summary.median_us, 1);
  EXPECT_EQ((*times)[0].calls, 1) << "a batch is a millisecond";
}

TEST(MpiRig, ByHandMpiGetsThePinnedCopies) {
  ::setenv("SENNIT_EMULATE", "1", 1);
  const auto memories = Memories::of_gpu(0);
  ::unsetenv("SENNIT_EMULATE");
  ASSERT_TRUE(memories);
  std::vector<bool> staged;
  MadeUpJob job([&](const Batch& batch, int, double&) {
    staged.push_back(batch.by_hand());
    MadeUpJob::carry(batch);
    return Status();
  });
  Rig rig(job, **memories, kSum);
  const Case on_gpu{Operation::allreduce, Buffers::gpu, 1024};
  ASSERT_TRUE(rig.make_room({on_gpu}));
  EXPECT_TRUE(rig.verify(on_gpu, kOurs));
  EXPECT_TRUE(rig.verify(on_gpu, {"by_hand", false, true}));
  EXPECT_EQ(staged, (std::vector{false, true}));
}

}  // namespace
}  // namespace sennit::bench::mpi
