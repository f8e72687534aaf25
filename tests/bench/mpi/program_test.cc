// The program as a user starts it, without a launcher: how it fails. tests/interop runs it as the ranks of jobs.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/launch.h"
#include "places.h"

namespace sennit::bench::mpi {
namespace {

using testing::HasSubstr;

struct Ran {
  int status = -1;
  std::string out, error;
};

Ran run(std::vector<std::string> arguments) {
  comm::Launch job;
  job.command = {places::built("sennit-bench-mpi")};
  job.command.insert(job.command.end(), arguments.begin(), arguments.end());
  job.announce = false;
  Ran ran;
  job.output = [&](int, std::string_view line, bool error) {
    (error ? ran.error : ran.out).append(line).append("\n");
  };
  const auto ended = comm::launch(job);
  EXPECT_TRUE(ended.ok()) << ended.status().text();
  if (ended.ok()) ran.status = ended->status;
  return ran;
}

TEST(BenchMpi, WrongUsageIsToldBeforeMpiStarts) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--sizes", "3"}, "3 bytes are no whole number of float32"},
      {{"--type", "bfloat16"}, "MPI has no numbers of type bfloat16"},
      {{"--op", "median"}, "there is no operator"},
      {{"--operations", "sort"}, "there is no operation 'sort'"},
      {{"--buffers", "none"}, "--buffers"},
      {{"--vs", "ucx"}, "--vs"},
      {{"--window", "0"}, "--window"},
      {{"--bind", "all"}, "--bind"},
      {{"--over", "ucx"}, "--over"},
      {{"--buffers", "host", "--library", "/nonexistent/libmpi.so.40"}, "/nonexistent/libmpi.so.40"},
      {{"--buffers", "host", "--library", "libm.so.6"}, "is no MPI whose ABI is known"}};
  for (const auto& [arguments, text] : cases) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 2) << text;
    EXPECT_THAT(ran.error, HasSubstr(text));
    EXPECT_EQ(ran.out, "");
  }
}

TEST(BenchMpi, HelpSaysHowItIsStarted) {
  const Ran ran = run({"--help"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, HasSubstr("LD_PRELOAD=…/libsennit-preload.so mpirun -n 2 sennit-bench-mpi"));
}

}  // namespace
}  // namespace sennit::bench::mpi
