#include "machine/hwloc.h"

#include <gtest/gtest.h>

namespace sennit::machine {
namespace {

TEST(ReadHwloc, GivesMemoryWhereItIsPresent) {
  const HwlocReadings readings = read_hwloc();
  if (!readings.present) {
    EXPECT_TRUE(readings.memory_bytes.empty());
    GTEST_SKIP() << "built without hwloc";
  }
  EXPECT_FALSE(readings.version.empty());
  EXPECT_FALSE(readings.memory_bytes.empty());
}

}  // namespace
}  // namespace sennit::machine
