#include "bench/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace sennit::bench {
namespace {

using testing::internal::CaptureStderr;
using testing::internal::CaptureStdout;
using testing::internal::GetCapturedStderr;
using testing::internal::GetCapturedStdout;

/// Runs a program with one subcommand `go --size N` whose body is given; returns its exit code.
int run(std::vector<const char*> arguments, const Body& body) {
  Program program("sennit-example", "An example.", "  sennit-example go --size 3");
  int size = 0;
  program.command("go", "Go.", body).add_option("--size", size, "How far");
  arguments.insert(arguments.begin(), "sennit-example");
  return program.run(int(arguments.size()), arguments.data());
}

Json error_line(const std::string& text) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  const Result<Json> line = parse_json(text, "stderr");
  return line.ok() ? (*line)["error"] : Json();
}

TEST(Program, EndsWithWhatTheBodySays) {
  EXPECT_EQ(run({"go"}, [] { return Result<Exit>(Exit::ok); }), 0);
  EXPECT_EQ(run({"go", "--size", "4"}, [] { return Result<Exit>(Exit::failed); }), 1);
}

TEST(Program, PrintsErrorsAsOneLineWithAllTheirParts) {
  CaptureStderr();
  const int code = run({"go"}, [] { return Result<Exit>(Status(Code::not_found, "what\nnow", "where", "remedy")); });
  const Json error = error_line(GetCapturedStderr());
  EXPECT_EQ(code, 1);
  EXPECT_EQ(error["code"], "not_found");
  EXPECT_EQ(error["what"], "what\nnow");
  EXPECT_EQ(error["where"], "where");
  EXPECT_EQ(error["remedy"], "remedy");
}

TEST(Program, CallsWrongUsageByItsName) {
  for (const std::vector<const char*>& arguments :
       {std::vector<const char*>{}, {"fly"}, {"go", "--size", "far"}, {"go", "--speed", "3"}}) {
    CaptureStderr();
    const int code = run(arguments, [] { return Result<Exit>(Exit::ok); });
    const Json error = error_line(GetCapturedStderr());
    EXPECT_EQ(code, 2);
    EXPECT_EQ(error["code"], "invalid_argument");
    EXPECT_EQ(error["remedy"], "See: sennit-example --help");
  }
}

TEST(Program, ShowsExamplesWithItsHelp) {
  CaptureStdout();
  EXPECT_EQ(run({"--help"}, [] { return Result<Exit>(Exit::failed); }), 0);
  EXPECT_THAT(GetCapturedStdout(), testing::HasSubstr("sennit-example go --size 3"));
}

TEST(Program, SurvivesALibraryThatThrows) {
  CaptureStderr();
  const int code = run({"go"}, []() -> Result<Exit> { throw std::runtime_error("no memory"); });
  EXPECT_EQ(code, 1);
  EXPECT_EQ(error_line(GetCapturedStderr())["what"], "no memory");
}

TEST(Program, WithoutSubcommandsRunsItsOnlyBody) {
  Program program("sennit-single", "One thing.", "");
  const char* arguments[] = {"sennit-single"};
  EXPECT_EQ(program.run(1, arguments, [] { return Result<Exit>(Exit::environment); }), 3);
}

TEST(ExitOf, TellsWhoseFaultItIs) {
  EXPECT_EQ(exit_of(Status()), Exit::ok);
  EXPECT_EQ(exit_of(Status(Code::invalid_argument, "")), Exit::usage);
  EXPECT_EQ(exit_of(Status(Code::unsupported, "")), Exit::environment);
  EXPECT_EQ(exit_of(Status(Code::out_of_memory, "")), Exit::environment);
  EXPECT_EQ(exit_of(Status(Code::corrupt, "")), Exit::failed);
}

TEST(Progress, PrintsOneLineAStepOnlyWhenAsked) {
  CaptureStderr();
  Progress(true).step(3, 40, "gpu0 → gpu1, 64 MiB");
  const std::string line = GetCapturedStderr();
  const Json progress = (*parse_json(line, "stderr"))["progress"];
  EXPECT_EQ(progress["done"], 3);
  EXPECT_EQ(progress["total"], 40);
  EXPECT_EQ(progress["what"], "gpu0 → gpu1, 64 MiB");
  CaptureStderr();
  Progress(false).step(3, 40, "quiet");
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST(Print, TakesTextThatIsNotUtf8) {
  CaptureStdout();
  print({{"name", "\xff"}});
  EXPECT_TRUE(parse_json(GetCapturedStdout(), "stdout").ok());
}

}  // namespace
}  // namespace sennit::bench
