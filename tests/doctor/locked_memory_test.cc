#include "doctor/locked_memory.h"

#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/units.h"
#include "made_up.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

LockedMemoryReadings readings(std::optional<std::uint64_t> limit, std::optional<bool> pinned) {
  LockedMemoryReadings made;
  made.limit = made.ceiling = limit;
  made.wanted = 192 * MiB;
  made.pinned = pinned;
  made.problem = "out of memory";
  return made;
}

TEST(LockedMemory, TheAttemptDecides) {
  const Check refused = judge_locked_memory(with_gpus(), readings(std::nullopt, false), false);
  EXPECT_EQ(refused.state, State::missing);
  EXPECT_TRUE(refused.needed);
  EXPECT_THAT(refused.detail, HasSubstr("192 MiB"));
  EXPECT_THAT(refused.detail, HasSubstr("out of memory"));
  const Check beyond = judge_locked_memory(with_gpus(), readings(8 * MiB, true), false);
  EXPECT_EQ(beyond.state, State::degraded);
  EXPECT_THAT(beyond.fix, HasSubstr("limits.conf"));
  EXPECT_EQ(judge_locked_memory(with_gpus(), readings(std::nullopt, true), false).state, State::works);
}

TEST(LockedMemory, WithoutAnAttemptTheLimitDecides) {
  EXPECT_EQ(judge_locked_memory(with_gpus(), readings(192 * MiB, std::nullopt), false).state, State::works);
  EXPECT_EQ(judge_locked_memory(with_gpus(), readings(192 * MiB - 1, std::nullopt), false).state, State::degraded);
}

TEST(LockedMemory, TheRemedyDependsOnWhoSetTheLimit) {
  LockedMemoryReadings low = readings(8 * MiB, true);
  EXPECT_THAT(judge_locked_memory(with_gpus(), low, true).fix, HasSubstr("--ulimit memlock=-1"));
  low.ceiling.reset();
  EXPECT_THAT(judge_locked_memory(with_gpus(), low, false).fix, HasSubstr("ulimit -l"));
}

TEST(LockedMemory, IsNotForTheHostExecutor) {
  EXPECT_EQ(judge_locked_memory(without_gpus(), readings(8 * MiB, std::nullopt), false).state, State::not_applicable);
  EXPECT_EQ(judge_locked_memory(told_host(), readings(8 * MiB, false), false).state, State::not_applicable);
}

TEST(LockedMemory, ReadsTheLimitAndTheVariable) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit low{std::min<rlim_t>(before.rlim_max, 4096), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &low), 0);
  setenv("SENNIT_STAGING", "16M", 1);
  const LockedMemoryReadings read = read_locked_memory(3);
  unsetenv("SENNIT_STAGING");
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
  EXPECT_EQ(read.limit, low.rlim_cur);
  EXPECT_EQ(read.wanted, 48 * MiB);
  EXPECT_EQ(read_locked_memory(0).wanted, 64 * MiB) << "at least one pair";
}

}  // namespace
}  // namespace sennit::doctor
