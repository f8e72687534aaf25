#include "comm/deadline.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace sennit::comm {
namespace {

TEST(Deadline, CountsDownToZeroAndNoFurther) {
  EXPECT_TRUE(Deadline::after(milliseconds(-5)).passed());
  EXPECT_EQ(Deadline::after(milliseconds(-5)).poll_ms(), 0);
  const Deadline later = Deadline::after(std::chrono::hours(1000));
  EXPECT_FALSE(later.passed());
  EXPECT_EQ(later.poll_ms(), 3'600'000);
  EXPECT_LE(later.at_most(milliseconds(50)).poll_ms(), 51);
  EXPECT_LE(Deadline::after(milliseconds(50)).at_most(std::chrono::hours(1)).poll_ms(), 51);
  EXPECT_EQ(Deadline::after(std::chrono::seconds(2)).seconds(), 2);
}

TEST(WaitLimit, IsSennitTimeoutWithinReason) {
  ::unsetenv("SENNIT_TIMEOUT");
  EXPECT_EQ(*wait_limit(), std::chrono::seconds(30));
  ::setenv("SENNIT_TIMEOUT", "2", 1);
  EXPECT_EQ(*wait_limit(), std::chrono::seconds(2));
  for (const char* wrong : {"0", "-1", "soon", "1.5", "1000001", "99999999999999999999"}) {
    ::setenv("SENNIT_TIMEOUT", wrong, 1);
    EXPECT_EQ(wait_limit().status().code(), Code::invalid_argument) << wrong;
  }
  ::unsetenv("SENNIT_TIMEOUT");
}

}  // namespace
}  // namespace sennit::comm
