#include "bench/mpi/job.h"

#include <gtest/gtest.h>

#include "made_up_job.h"

namespace sennit::bench::mpi {
namespace {

Batch of(Operation operation, int window = 1) {
  Batch batch;
  batch.layout = {{operation, Buffers::host, 8, window}, 0, 1};
  return batch;
}

TEST(MpiJob, ATimeIsOfOneMessageOneWay) {
  MadeUpJob job([](const Batch&, int calls, double& us) {
    us = 128.0 * calls;
    return Status();
  });
  EXPECT_EQ(job.run(of(Operation::allreduce), 10)->us, 128);
  EXPECT_EQ(job.run(of(Operation::latency), 10)->us, 64);
  EXPECT_EQ(job.run(of(Operation::bandwidth, 64), 10)->us, 2);
}

TEST(MpiJob, AnErrorNamesItsRank) {
  MadeUpJob job(
      [](const Batch&, int, double&) { return Status(Code::device_error, "a copy failed", "lane", "Wait"); });
  const Status status = job.run(of(Operation::allreduce), 1).status();
  EXPECT_EQ(status.code(), Code::device_error);
  EXPECT_EQ(status.what(), "a copy failed");
  EXPECT_EQ(status.where(), "rank 0: lane");
  EXPECT_EQ(status.remedy(), "Wait");
  EXPECT_TRUE(job.agree({}));
}

TEST(MpiJob, TextsOfAnyLengthAreGathered) {
  MadeUpJob job({});
  EXPECT_EQ(*job.gather("abc"), std::vector<std::string>{"abc"});
  EXPECT_EQ(*job.gather(""), std::vector<std::string>{""});
}

}  // namespace
}  // namespace sennit::bench::mpi
