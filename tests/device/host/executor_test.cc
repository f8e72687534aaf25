#include "device/executor.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace sennit::device {
namespace {

class HostExecutorTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_host_executor();
    ASSERT_TRUE(opened.ok());
    executor = *opened;
  }
  std::shared_ptr<Executor> executor;
};

TEST_F(HostExecutorTest, PresentsTheDevicesAskedFor) {
  EXPECT_EQ(executor->devices().size(), 4u);
  EXPECT_EQ(executor->find("HOST-2"), 2);
  EXPECT_EQ(executor->find("GPU-0"), -1);
}

TEST_F(HostExecutorTest, RefusesDevicesThatDoNotExist) {
  const Status status = executor->allocate(9, 16).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.text().find("device 9"), std::string::npos);
}

TEST_F(HostExecutorTest, RefusesMoreMemoryThanThereIs) {
  const Status status = executor->allocate(0, std::size_t(1) << 50).status();
  EXPECT_EQ(status.code(), Code::out_of_memory);
  EXPECT_NE(status.text().find("are left"), std::string::npos) << status.text();
}

TEST_F(HostExecutorTest, HasAsMuchMemoryAsItIsTold) {
  ::setenv("SENNIT_HOST_MEMORY", "64K", 1);
  auto opened = open_host_executor();
  ::setenv("SENNIT_HOST_MEMORY", "little", 1);
  EXPECT_EQ(open_host_executor().status().code(), Code::invalid_argument);
  ::unsetenv("SENNIT_HOST_MEMORY");
  ASSERT_TRUE(opened.ok());
  Executor& small = **opened;
  EXPECT_EQ(small.devices()[0].memory_bytes, 64u << 10);
  auto most = small.allocate(3, 48 << 10);
  ASSERT_TRUE(most.ok());
  // What is mapped is another's, and pinned memory is the host's.
  const auto mapped = small.map(*small.share(most->data()), 3);
  const auto pinned = small.allocate_pinned(1 << 20);
  ASSERT_TRUE(mapped.ok() && pinned.ok());
  EXPECT_EQ(small.allocate(3, 17 << 10).status().code(), Code::out_of_memory);
  EXPECT_TRUE(small.allocate(3, 16 << 10).ok());
  EXPECT_TRUE(small.allocate(2, 64 << 10).ok());
  *most = {};
  EXPECT_TRUE(small.allocate(3, 64 << 10).ok());
}

TEST_F(HostExecutorTest, DescribesItsMemoryAndOthers) {
  auto device = executor->allocate(1, 4096);
  ASSERT_TRUE(device.ok());
  auto inside = executor->describe(device->data() + 100);
  ASSERT_TRUE(inside.ok());
  EXPECT_EQ(inside->place, Place::device);
  EXPECT_EQ(inside->device, 1);
  EXPECT_EQ(inside->base, device->data());
  EXPECT_EQ(inside->bytes, 4096u);
  EXPECT_EQ(executor->holder(device->data() + 100), 1);

  auto pinned = executor->allocate_pinned(64);
  EXPECT_EQ(executor->describe(pinned->data())->place, Place::pinned);
  int local = 0;
  EXPECT_EQ(executor->describe(&local)->place, Place::pageable);
  EXPECT_EQ(executor->holder(pinned->data()), -1);
  EXPECT_EQ(executor->holder(&local), std::nullopt);
  EXPECT_EQ(executor->holder(nullptr), std::nullopt);
  EXPECT_EQ(executor->describe(nullptr).status().code(), Code::invalid_argument);
}

TEST_F(HostExecutorTest, NoticesFreedMemory) {
  std::byte* gone = nullptr;
  std::uint64_t first = 0;
  {
    auto memory = executor->allocate(0, 1 << 20);
    gone = memory->data();
    first = executor->describe(gone)->identity;
  }
  EXPECT_EQ(executor->describe(gone).status().code(), Code::invalid_argument);
  auto again = executor->allocate(0, 1 << 20);
  EXPECT_NE(executor->describe(again->data())->identity, first) << "an identity is never used twice";
}

TEST_F(HostExecutorTest, MapsWhatAnotherProcessWouldShare) {
  auto memory = executor->allocate(2, 8192);
  std::memset(memory->data(), 7, 8192);
  auto shareable = executor->share(memory->data() + 4096);
  ASSERT_TRUE(shareable.ok());
  EXPECT_EQ(shareable->device, "HOST-2");
  auto mapped = executor->map(*shareable, 0);
  ASSERT_TRUE(mapped.ok());
  EXPECT_NE(mapped->data(), memory->data() + 4096);
  EXPECT_EQ(mapped->data()[10], std::byte(7));
  mapped->data()[10] = std::byte(9);
  EXPECT_EQ(memory->data()[4106], std::byte(9));
  EXPECT_EQ(executor->describe(mapped->data())->device, 2);
}

TEST_F(HostExecutorTest, CannotShareOrdinaryMemory) {
  int local = 0;
  EXPECT_EQ(executor->share(&local).status().code(), Code::unsupported);
}

TEST_F(HostExecutorTest, SaysWhichSwitchForbidsSharing) {
  auto memory = executor->allocate(0, 64);
  setenv("SENNIT_IPC", "0", 1);
  const Status status = executor->share(memory->data()).status();
  unsetenv("SENNIT_IPC");
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.text().find("SENNIT_IPC"), std::string::npos);
}

TEST_F(HostExecutorTest, PeersAreForbiddenByASwitch) {
  EXPECT_TRUE(executor->reaches(0, 3));
  setenv("SENNIT_PEER", "0", 1);
  EXPECT_FALSE(executor->reaches(0, 3));
  EXPECT_TRUE(executor->reaches(3, 3));
  unsetenv("SENNIT_PEER");
}

TEST(OpenExecutor, NamesAWrongChoice) {
  setenv("SENNIT_EXECUTOR", "abacus", 1);
  EXPECT_NE(open_executor().status().text().find("abacus"), std::string::npos);
  setenv("SENNIT_EXECUTOR", "host", 1);
  EXPECT_EQ((*open_executor())->kind(), Kind::host);
  unsetenv("SENNIT_EXECUTOR");
}

}  // namespace
}  // namespace sennit::device
