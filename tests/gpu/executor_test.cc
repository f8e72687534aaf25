// The cuda executor itself: what memory is, and how its waits end.
#include <cuda_runtime.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "device/executor.h"

namespace sennit::gpu {
namespace {

using testing::HasSubstr;

struct CudaExecutor : testing::Test {
  std::shared_ptr<device::Executor> executor;
  void SetUp() override {
    auto opened = device::open_cuda_executor();
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    executor = *opened;
  }
};

TEST_F(CudaExecutor, DescribesMemory) {
  auto memory = executor->allocate(0, MiB);
  ASSERT_TRUE(memory.ok()) << memory.status().text();
  const auto inside = executor->describe(memory->data() + 4099);
  ASSERT_TRUE(inside.ok()) << inside.status().text();
  EXPECT_EQ(inside->place, device::Place::device);
  EXPECT_EQ(inside->device, 0);
  EXPECT_EQ(inside->base, memory->data());
  EXPECT_GE(inside->bytes, MiB);
  EXPECT_EQ(executor->holder(memory->data() + 4099), 0);

  auto pinned = executor->allocate_pinned(MiB);
  ASSERT_TRUE(pinned.ok());
  EXPECT_EQ(executor->describe(pinned->data() + 1)->place, device::Place::pinned);
  int local = 0;
  EXPECT_EQ(executor->describe(&local)->place, device::Place::pageable);
  EXPECT_EQ(executor->holder(pinned->data() + 1), -1);
  EXPECT_EQ(executor->holder(&local), std::nullopt);
  EXPECT_EQ(executor->holder(nullptr), std::nullopt);
}

TEST_F(CudaExecutor, RefusesWhatIsNoMemory) {
  EXPECT_THAT(executor->describe(nullptr).status().text(), HasSubstr("null pointer"));
  const void* freed = nullptr;
  {
    auto memory = executor->allocate(0, 64 * MiB);
    ASSERT_TRUE(memory.ok());
    freed = memory->data();
  }
  EXPECT_FALSE(executor->describe(freed).ok());
  EXPECT_THAT(executor->allocate(999, 1).status().text(), HasSubstr("999"));
  const auto everything = executor->allocate(0, std::uint64_t(1) << 50);
  EXPECT_EQ(everything.status().code(), Code::out_of_memory) << everything.status().text();
}

TEST_F(CudaExecutor, GivesAReallocationAnotherIdentity) {
  std::uint64_t first = 0;
  {
    auto memory = executor->allocate(0, 64 * MiB);
    ASSERT_TRUE(memory.ok());
    first = executor->describe(memory->data())->identity;
  }
  auto memory = executor->allocate(0, 64 * MiB);
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(executor->describe(memory->data())->identity, first);
}

}  // namespace
}  // namespace sennit::gpu
