#include "doctor/shared_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

TEST(SharedMemory, OfDockersDefaultSizeIsTooSmall) {
  const Check check = judge_shared_memory({true, 64 * MiB, 64 * MiB, true}, 4, true);
  EXPECT_EQ(check.state, State::degraded);
  EXPECT_THAT(check.detail, HasSubstr("64 MiB of 64 MiB free"));
  EXPECT_THAT(check.fix, HasSubstr("--shm-size=1g"));
  EXPECT_THAT(judge_shared_memory({true, 64 * MiB, 64 * MiB, true}, 4, false).fix, HasSubstr("remount,size=1G"));
}

TEST(SharedMemory, GrowsWithTheGpus) {
  EXPECT_EQ(judge_shared_memory({true, GiB, GiB, true}, 16, false).state, State::works);
  EXPECT_EQ(judge_shared_memory({true, GiB, GiB, true}, 17, false).state, State::degraded);
  EXPECT_EQ(judge_shared_memory({true, GiB - 1, GiB - 1, true}, 0, false).state, State::degraded);
}

TEST(SharedMemory, FullReadOnlyOrAbsentHasItsOwnRemedy) {
  EXPECT_THAT(judge_shared_memory({true, 8 * GiB, MiB, true}, 1, false).fix, HasSubstr("ls -la /dev/shm"));
  EXPECT_THAT(judge_shared_memory({true, 8 * GiB, 8 * GiB, false}, 1, false).fix, HasSubstr("chmod"));
  const Check absent = judge_shared_memory({}, 1, false);
  EXPECT_EQ(absent.state, State::missing);
  EXPECT_FALSE(absent.needed) << "sennit itself uses none";
}

TEST(SharedMemory, IsReadFromTheFileSystem) {
  EXPECT_FALSE(read_shared_memory("/no/such/folder").present);
  const SharedMemoryReadings readings = read_shared_memory("/tmp");
  EXPECT_TRUE(readings.present && readings.writable);
  EXPECT_GT(readings.bytes, 0u);
  EXPECT_LE(readings.free_bytes, readings.bytes);
}

}  // namespace
}  // namespace sennit::doctor
