#include "shim/mpi/helper.h"

#include <atomic>
#include <new>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {

namespace {

TEST(HelperTest, LooksUntilNothingIsLeft) {
  std::atomic<int> left{3};
  Helper helper([&left] { return --left > 0; });
  helper.wake();
  while (left > 0) sched_yield();
  EXPECT_EQ(left, 0);
}

TEST(HelperTest, LooksAgainWhereThereWasNoMemory) {
  std::atomic<int> looks{0};
  Helper helper([&looks]() -> bool {
    if (++looks < 3) throw std::bad_alloc();
    return false;
  });
  helper.wake();
  while (looks < 3) sched_yield();
  EXPECT_EQ(looks, 3);
}

}  // namespace

}  // namespace sennit::shim::mpi
