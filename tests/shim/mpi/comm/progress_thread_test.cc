#include "shim/mpi/comm/progress_thread.h"

#include <atomic>
#include <new>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {

namespace {

TEST(ProgressThreadTest, LooksUntilNothingIsLeft) {
  std::atomic<int> left{3};
  ProgressThread helper([&left] { return --left > 0; });
  helper.wake();
  while (left > 0) sched_yield();
  EXPECT_EQ(left, 0);
}

TEST(ProgressThreadTest, LooksAgainWhereThereWasNoMemory) {
  std::atomic<int> looks{0};
  ProgressThread helper([&looks]() -> bool {
    if (++looks < 3) throw std::bad_alloc();
    return false;
  });
  helper.wake();
  while (looks < 3) sched_yield();
  EXPECT_EQ(looks, 3);
}

}  // namespace

}  // namespace sennit::shim::mpi
