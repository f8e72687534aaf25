#include "doctor/tracing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

TEST(Tracing, WorksWhenTheOtherProcessCouldRead) {
  EXPECT_EQ(judge_tracing({0, 0, 1, ""}, false).state, State::works) << "the attempt counts, not the setting";
}

TEST(Tracing, NamesWhatForbidsIt) {
  const Check scoped = judge_tracing({0, EPERM, 1, ""}, false);
  EXPECT_EQ(scoped.state, State::degraded);
  EXPECT_THAT(scoped.detail, HasSubstr("ptrace_scope is 1"));
  EXPECT_THAT(scoped.fix, HasSubstr("sysctl kernel.yama.ptrace_scope=0"));
  EXPECT_THAT(judge_tracing({0, EPERM, std::nullopt, ""}, true).fix, HasSubstr("SYS_PTRACE"));
  const Check seccomp = judge_tracing({ENOSYS, ENOSYS, std::nullopt, ""}, true);
  EXPECT_EQ(seccomp.state, State::degraded);
  EXPECT_THAT(seccomp.detail, HasSubstr("forbidden altogether"));
}

TEST(Tracing, IsUndecidedWithoutAnAnswer) {
  EXPECT_EQ(judge_tracing({0, 0, 0, "crashed with signal 31"}, false).state, State::not_applicable);
}

}  // namespace
}  // namespace sennit::doctor
