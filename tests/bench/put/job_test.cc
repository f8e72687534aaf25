#include "bench/put/job.h"

#include <gtest/gtest.h>

namespace sennit::bench::put {
namespace {

TEST(Job, ReadsWhatItWrote) {
  Job job;
  job.from = {"gpu2", 1};
  job.to = {"host0", path::kHost};
  job.cases = {{4096, false, 1}, {1ull << 33, true, 64}};
  job.variants = {"sennit", "engine"};
  job.seconds = 0.25;
  job.split = "direct=0.9,host0 (sm)=0.1";
  job.nccl = "/opt/nccl/lib";
  job.measured = job.setup = job.progress = true;
  job.done = 3;
  job.total = 7;
  const auto read = job_from(to_json(job).dump());
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(to_json(*read), to_json(job));
  EXPECT_EQ(read->cases, job.cases);
  EXPECT_TRUE(read->in_one_process());
}

TEST(Job, RefusesWhatIsNoJob) {
  EXPECT_EQ(job_from("{").status().code(), Code::corrupt);
  EXPECT_EQ(job_from("{}").status().code(), Code::invalid_argument);
  EXPECT_EQ(job_from(R"({"from": 3})").status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace sennit::bench::put
