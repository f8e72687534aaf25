#include "bench/put/ucx.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace sennit::bench::put {
namespace {

using testing::HasSubstr;

TEST(UcxLine, GivesTheAverageOverAllIterations) {
  const auto figure = parse_ucx_line("t12, 200,3.467,3.555,3.600,17581.76,17581.76,281308,281308");
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->test, 12u);
  EXPECT_DOUBLE_EQ(figure->us, 3.6);
}

TEST(UcxLine, IsNoOtherLine) {
  for (const char* line :
       {"", "test,iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr", "t1, 200",
        "t1, 200,1,1,none,1,1,1,1", "t1, 200,1,1,0,1,1,1,1", "tx, 200,1,1,1,1,1,1,1",
        "[1.0] [vm:1 :0] perftest.c:137 UCX ERROR recv() failed", "t1,2,3,4,-5,6"})
    EXPECT_FALSE(parse_ucx_line(line)) << line;
}

TEST(UcxBatch, RunsTheTestsInTurns) {
  const std::string text = ucx_batch({{{MiB, false, 1}, 100}, {{4096, false, 64}, 200}}, "cuda");
  EXPECT_THAT(text, testing::StartsWith("t0 -t ucp_put_bw -m cuda -s 1048576 -n 100 -w 2 -O 1\n"
                                        "t1 -t ucp_put_bw -m cuda -s 4096 -n 200 -w 64 -O 64\n"
                                        "t0 "));
  EXPECT_EQ(std::ranges::count(text, '\n'), 2 * kUcxRounds);
}

TEST(UcxIterations, FillARound) {
  EXPECT_EQ(ucx_iterations({GiB, false, 1}, 1e6 / kUcxRounds / 10, 1), 10);
  EXPECT_EQ(ucx_iterations({GiB, false, 1}, 1e9, 1), 3);
  EXPECT_EQ(ucx_iterations({4096, false, 1}, 0, 1), 2000);
  EXPECT_EQ(ucx_iterations({GiB, false, 64}, 1e9, 1), 128);
}

TEST(FindUcx, SaysThatThereIsNone) {
  EXPECT_EQ(find_ucx("/nowhere/ucx_perftest").status().code(), Code::not_found);
}

/// A program in ucx_perftest's place.
class StandIn : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sennit-ucx-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::filesystem::create_directory(folder_ / "bin");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  UcxProgram program(const std::string& text) {
    const auto file = folder_ / "bin" / "ucx_perftest";
    std::ofstream(file) << "#!/bin/sh\n" << text;
    ::chmod(file.c_str(), 0700);
    return {file.string(), ""};
  }
  UcxPlace place() const { return {"cuda", "GPU-a", "GPU-b", folder_.string()}; }
  bool left_nothing() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().filename() != "bin") return false;
    return true;
  }

  std::filesystem::path folder_;
};

TEST_F(StandIn, IsRunAtBothEndsOfThePair) {
  // The client prints what it was told, as a figure: the tests of the batch, and 1 µs if it sees the right GPU and
  // its libraries.
  const auto fake = program(
      "if [ \"$7\" = localhost ]; then\n"
      "  [ \"$CUDA_VISIBLE_DEVICES\" = GPU-a ] || exit 3\n"
      "  case $LD_LIBRARY_PATH in */lib*) ;; *) exit 4;; esac\n"
      "  while read -r name rest; do echo \"$name, 10,1,1,1.5,1,1,1,1\"; done < \"$6\"\n"
      "else [ \"$CUDA_VISIBLE_DEVICES\" = GPU-b ] || exit 5; fi\n");
  int seen = 0;
  const auto times =
      run_ucx(fake, {{{MiB, false, 1}, 10}, {{4096, false, 1}, 10}}, place(), [&](std::size_t) { ++seen; });
  ASSERT_TRUE(times.ok()) << times.status().text();
  ASSERT_EQ(times->size(), 2u);
  EXPECT_EQ((*times)[1].repetitions, kUcxRounds);
  EXPECT_DOUBLE_EQ((*times)[1].median_us, 1.5);
  EXPECT_EQ(seen, 2 * kUcxRounds);
  EXPECT_TRUE(left_nothing());
}

TEST_F(StandIn, ThatFailsIsQuoted) {
  const auto times = run_ucx(program("echo '[1] UCX  ERROR no cuda here' >&2; exit 7\n"), {{{MiB, false, 1}, 10}},
                             place(), [](std::size_t) {});
  ASSERT_FALSE(times.ok());
  EXPECT_THAT(times.status().what(), HasSubstr("no cuda here"));
  EXPECT_THAT(times.status().what(), HasSubstr("status 7"));
  EXPECT_TRUE(left_nothing());
}

TEST_F(StandIn, ThatPrintsNothingIsNoMeasurement) {
  const auto times = run_ucx(program("exit 0\n"), {{{MiB, false, 1}, 10}}, place(), [](std::size_t) {});
  EXPECT_EQ(times.status().code(), Code::corrupt);
}

}  // namespace
}  // namespace sennit::bench::put
