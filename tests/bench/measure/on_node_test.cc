#include "bench/measure/on_node.h"

#include <gtest/gtest.h>

namespace sennit::bench::measure {
namespace {

TEST(ParseProcessors, ReadsTheKernelsNotation) {
  EXPECT_EQ(parse_processors("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_processors("5"), std::vector<int>{5});
  EXPECT_TRUE(parse_processors("").empty());
}

TEST(ParseProcessors, SkipsWhatIsNoNumberAndWhatNoMachineHas) {
  EXPECT_EQ(parse_processors("x,2,-,3-x,99999999999"), std::vector<int>{2});
  EXPECT_EQ(parse_processors("7-5,1"), std::vector<int>{1});
  EXPECT_EQ(parse_processors("0-2147483647").size(), std::size_t(CPU_SETSIZE));
}

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
