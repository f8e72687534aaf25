#include "bench/measure/on_node.h"

#include <gtest/gtest.h>

namespace sennit::bench::measure {
namespace {

TEST(OnNode, LeavesTheThreadWhereItWas) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  {
    const OnNode bound(0);
    const OnNode nowhere(-1), missing(4000);
    EXPECT_FALSE(nowhere.bound());
    EXPECT_FALSE(missing.bound());
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace sennit::bench::measure
