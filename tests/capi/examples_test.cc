// The examples and the C program run, as four ranks or alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/launch.h"
#include "places.h"

namespace sennit::capi {
namespace {

std::vector<std::string> run(const std::string& program, int ranks) {
  std::vector<std::string> lines;
  comm::Launch job;
  job.ranks = ranks;
  job.command = {program};
  job.environment = [](int) { return std::map<std::string, std::string>{{"SENNIT_EXECUTOR", "host"}}; };
  job.output = [&](int, std::string_view line, bool) { lines.emplace_back(line); };
  const auto ended = comm::launch(job);
  EXPECT_TRUE(ended.ok() && ended->status == 0) << ended.status().text() << testing::PrintToString(lines);
  return lines;
}

TEST(Examples, PutOnFourRanks) {
  for (const std::string& program : {places::built("put_c"), places::built("put_cpp")})
    EXPECT_THAT(run(program, 4), testing::UnorderedElementsAre("rank 0 of 4: 1048576 numbers from rank 3, 0 wrong",
                                                               "rank 1 of 4: 1048576 numbers from rank 0, 0 wrong",
                                                               "rank 2 of 4: 1048576 numbers from rank 1, 0 wrong",
                                                               "rank 3 of 4: 1048576 numbers from rank 2, 0 wrong"));
}

TEST(Examples, AllreduceOnThreeRanks) {
  EXPECT_THAT(
      run(places::built("allreduce_c"), 3),
      testing::UnorderedElementsAre("rank 0 of 3: 1048576 sums, 0 wrong", "rank 1 of 3: 1048576 sums, 0 wrong",
                                    "rank 2 of 3: 1048576 sums, 0 wrong"));
}

TEST(Examples, PartitionsOnTwoRanks) {
  EXPECT_THAT(run(places::built("partitioned_c"), 2),
              testing::UnorderedElementsAre("rank 0 of 2: 3 times 92160 numbers from rank 1, 0 wrong",
                                            "rank 1 of 2: 3 times 92160 numbers from rank 0, 0 wrong"));
}

TEST(Header, IsC11) {
  EXPECT_THAT(run(places::built("capi_c"), 1), testing::ElementsAre("0 failures"));
}

}  // namespace
}  // namespace sennit::capi
