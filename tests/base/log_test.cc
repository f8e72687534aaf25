#include "base/log.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit {
namespace {

using testing::HasSubstr;

TEST(Log, KnowsItsLevels) {
  EXPECT_EQ(*parse_log_level("error"), LogLevel::error);
  EXPECT_EQ(*parse_log_level("debug"), LogLevel::debug);
  for (const char* wrong : {"", "verbose", "Info", "1"}) {
    const Status status = parse_log_level(wrong).status();
    EXPECT_EQ(status.code(), Code::invalid_argument) << wrong;
    EXPECT_THAT(status.text(), HasSubstr("error, warning, info or debug"));
  }
}

TEST(Log, WritesOneLine) {
  const std::string line = log_line(LogLevel::warning, "two\nlines");
  EXPECT_THAT(line, testing::StartsWith("sennit warning (process "));
  EXPECT_THAT(line, testing::EndsWith("): two lines\n"));
}

TEST(Log, SaysOnlyWhatIsWrongByDefault) {
  ASSERT_EQ(getenv("SENNIT_LOG"), nullptr) << "run the tests without it";
  testing::internal::CaptureStderr();
  log(LogLevel::info, "not this");
  log(LogLevel::error, "but this");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("but this"), Not(HasSubstr("not this"))));
  EXPECT_TRUE(logs(LogLevel::warning));
  EXPECT_FALSE(logs(LogLevel::info));
}

}  // namespace
}  // namespace sennit
