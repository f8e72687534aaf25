#include "doctor/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "made_up.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

TEST(Memory, ReadsTheTightestGroupOfTheSecondVersion) {
  const auto root = scratch();
  write(root / "proc/meminfo", "MemTotal: 100 kB\nMemAvailable:   8388608 kB\n");
  write(root / "proc/self/cgroup", "0::/job/step\n");
  write(root / "sys/fs/cgroup/job/memory.max", "1073741824\n");
  write(root / "sys/fs/cgroup/job/memory.current", "805306368\n");
  write(root / "sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 268435456\n");
  write(root / "sys/fs/cgroup/job/step/memory.max", "max\n");
  write(root / "sys/fs/cgroup/job/step/memory.current", "1\n");
  const MemoryReadings readings = read_memory(root);
  EXPECT_EQ(readings.available, 8 * GiB);
  EXPECT_EQ(readings.group_limit, GiB);
  EXPECT_EQ(readings.group_used, 512 * MiB) << "page cache that the kernel would drop does not count";
}

TEST(Memory, ReadsTheFirstVersionToo) {
  const auto root = scratch();
  write(root / "proc/meminfo", "MemAvailable: 1048576 kB\n");
  write(root / "proc/self/cgroup", "5:cpu:/x\n4:memory:/slurm/job7\n0::/\n");
  write(root / "sys/fs/cgroup/memory/slurm/job7/memory.limit_in_bytes", "536870912\n");
  write(root / "sys/fs/cgroup/memory/slurm/job7/memory.usage_in_bytes", "1024\n");
  write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write(root / "sys/fs/cgroup/memory/memory.usage_in_bytes", "1024\n");
  EXPECT_EQ(read_memory(root).group_limit, 512 * MiB);
}

TEST(Memory, IsEnoughOrNot) {
  EXPECT_EQ(judge_memory({8 * GiB, std::nullopt, 0}, GiB).state, State::works);
  const Check low = judge_memory({512 * MiB, std::nullopt, 0}, GiB);
  EXPECT_EQ(low.state, State::degraded);
  EXPECT_THAT(low.detail, HasSubstr("512 MiB"));
  const Check grouped = judge_memory({8 * GiB, GiB, 900 * MiB}, GiB);
  EXPECT_EQ(grouped.state, State::degraded);
  EXPECT_THAT(grouped.detail, HasSubstr("124 MiB left below the control group's limit of 1 GiB"));
  EXPECT_THAT(grouped.fix, HasSubstr("--mem"));
  EXPECT_EQ(judge_memory({8 * GiB, GiB, 2 * GiB}, GiB).state, State::degraded) << "over the limit, nothing is left";
  EXPECT_EQ(judge_memory({}, GiB).state, State::not_applicable);
}

}  // namespace
}  // namespace sennit::doctor
