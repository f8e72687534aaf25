// The whole program, on the host executor: what it prints and how it fails.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "comm/launch.h"
#include "places.h"

namespace sennit::bench::collective {
namespace {

using testing::HasSubstr;

struct Ran {
  int status = -1;
  std::string out, error;
};

Ran run(std::vector<std::string> arguments) {
  comm::Launch job;
  job.command = {places::built("sennit-bench-collective"), "--executor", "host", "--seconds", "0.005"};
  job.command.insert(job.command.end(), arguments.begin(), arguments.end());
  job.announce = false;
  job.environment = [](int) {
    return std::map<std::string, std::string>{{"SENNIT_CACHE", "/nonexistent/sennit"}, {"SENNIT_MACHINE", ""}};
  };
  Ran ran;
  job.output = [&](int, std::string_view line, bool error) {
    (error ? ran.error : ran.out).append(line).append("\n");
  };
  const auto ended = comm::launch(job);
  EXPECT_TRUE(ended.ok()) << ended.status().text();
  if (ended.ok()) ran.status = ended->status;
  return ran;
}

TEST(BenchCollective, PrintsARowForEverySizeAndPlan) {
  const Ran ran = run({"--ranks", "3", "--sizes", "8,64K", "--algorithms", "two_shot,one_shot_packets", "--blocks",
                       "1,2", "--type", "bfloat16", "--op", "average", "--out-of-place"});
  ASSERT_EQ(ran.status, 0) << ran.error;
  const Json document = *parse_json(ran.out, "stdout");
  EXPECT_EQ(document.at("kind"), "bench collective");
  EXPECT_FALSE(document.at("versions").at("sennit").get<std::string>().empty());
  std::multiset<std::string> seen;
  for (const Json& row : document.at("rows")) {
    seen.insert(row.at("variant").get<std::string>() + "/" + row.at("bytes").dump());
    EXPECT_TRUE(row.at("verified").get<bool>());
    EXPECT_EQ(row.at("ranks"), 3);
    EXPECT_EQ(row.at("type"), "bfloat16");
    EXPECT_FALSE(row.at("in_place").get<bool>());
    EXPECT_GT(row.at("median_us").get<double>(), 0);
    EXPECT_NEAR(row.at("busbw_gbps").get<double>(), row.at("gbps").get<double>() * 4 / 3, 1e-9);
  }
  // One-shot packets have no room for 64 KiB in two blocks: that row is left out.
  EXPECT_EQ(seen, (std::multiset<std::string>{"sennit/8", "sennit/65536", "two_shot 1x512/8", "two_shot 1x512/65536",
                                              "two_shot 2x512/8", "two_shot 2x512/65536", "one_shot_packets 1x512/8",
                                              "one_shot_packets 2x512/8"}));
}

TEST(BenchCollective, MeasuresEveryOperation) {
  const Ran ran = run({"--ranks", "3", "--sizes", "3,64K", "--operations", "all", "--type", "int8"});
  ASSERT_EQ(ran.status, 0) << ran.error;
  const Json document = *parse_json(ran.out, "stdout");
  std::map<std::string, std::vector<std::uint64_t>> sizes;
  for (const Json& row : document.at("rows")) sizes[row.at("operation")].push_back(row.at("bytes"));
  EXPECT_EQ(sizes.size(), 11u);
  EXPECT_EQ(sizes["allreduce"], (std::vector<std::uint64_t>{3, 65536}));
  EXPECT_EQ(sizes["all_to_all_v"], (std::vector<std::uint64_t>{3, 65535})) << "whole elements for every rank";
  EXPECT_EQ(sizes["sendrecv"], (std::vector<std::uint64_t>{3, 65536}));
  EXPECT_EQ(sizes["barrier"], std::vector<std::uint64_t>{0});
}

/// A third and a fifth are rounded, and each algorithm adds in an order of its own.
TEST(BenchCollective, AveragesOfRanksThatDoNotDivideAreVerified) {
  for (const std::string type : {"float32", "bfloat16", "float8_e4m3"}) {
    const Ran ran = run({"--ranks", "5", "--sizes", "64K", "--operations", "allreduce,reduce_scatter,reduce",
                         "--algorithms", "all", "--blocks", "1", "--type", type, "--op", "average"});
    EXPECT_EQ(ran.status, 0) << ran.error;
  }
}

TEST(BenchCollective, ManyRowsAreNotCutOff) {
  const Ran ran = run({"--ranks", "2", "--sizes", "8,16,24,32,40,48", "--operations", "all", "--algorithms", "all"});
  ASSERT_EQ(ran.status, 0) << ran.error;
  const Json document = *parse_json(ran.out, "stdout");
  EXPECT_GT(document.at("rows").dump().size(), 64u * 1024) << "more than the launcher takes as one line";
}

TEST(BenchCollective, WrongUsageIsToldAtOnce) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--sizes", "3"}, "3 bytes are no whole number of float32"},
      {{"--type", "half"}, "there is no type"},
      {{"--op", "median"}, "there is no operator"},
      {{"--op", "bit_and"}, "bit_and is not for float32"},
      {{"--algorithms", "magic"}, "there is no allreduce algorithm"},
      {{"--operations", "allgather", "--algorithms", "two_shot"},
       "Use one of direct, direct_loads, direct_whole, packets, ring, direct_windows"},
      {{"--operations", "sort"}, "there is no operation"}};
  for (const auto& [arguments, text] : cases) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 2) << text;
    EXPECT_THAT(ran.error, HasSubstr(text));
    EXPECT_EQ(ran.out, "");
  }
}

TEST(BenchCollective, PeersThatCannotRunAreNamedInAWarning) {
  const Ran ran = run({"--ranks", "2", "--sizes", "8", "--vs", "nccl", "--nccl", "/nonexistent/libnccl.so.2"});
  ASSERT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(parse_json(ran.out, "stdout")->at("warnings").dump(), HasSubstr("nccl is left out"));
}

}  // namespace
}  // namespace sennit::bench::collective
