// The program as a user starts it, without a launcher: how it fails. tests/interop runs it as the ranks of jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/launch.h"
#include "places.h"

namespace sennit::bench::partitioned {
namespace {

using testing::HasSubstr;

struct Printed {
  int status = -1;
  std::string out, error;
};

Printed run(std::vector<std::string> arguments) {
  comm::Launch job;
  job.command = {places::built("sennit-bench-partitioned")};
  job.command.insert(job.command.end(), arguments.begin(), arguments.end());
  job.announce = false;
  Printed ran;
  job.output = [&](int, std::string_view line, bool error) {
    (error ? ran.error : ran.out).append(line).append("\n");
  };
  const auto ended = comm::launch(job);
  EXPECT_TRUE(ended.ok()) << ended.status().text();
  if (ended.ok()) ran.status = ended->status;
  return ran;
}

TEST(BenchPartitioned, WrongUsageIsToldBeforeMpiStarts) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--back-end", "post"}, "there is no back end 'post'"},
      {{"--probe", "why"}, "there is no question 'why'"},
      {{"--partitions", "0"}, "--partitions"},
      {{"--cache", "warm"}, "--cache"},
      {{"--noise", "replay:/nonexistent/times"}, "/nonexistent/times"},
      {{"--library", "/nonexistent/libmpi.so.40"}, "/nonexistent/libmpi.so.40"}};
  for (const auto& [arguments, text] : cases) {
    const Printed ran = run(arguments);
    EXPECT_EQ(ran.status, 2) << text;
    EXPECT_THAT(ran.error, HasSubstr(text));
    EXPECT_EQ(ran.out, "");
  }
}

}  // namespace
}  // namespace sennit::bench::partitioned
