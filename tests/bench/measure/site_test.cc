#include "bench/measure/site.h"

#include <gtest/gtest.h>

#include "faulty_executor.h"
#include "small_machine.h"

namespace sennit::bench::measure {
namespace {

TEST(Site, MatchesDevicesByUuid) {
  machine::Machine machine = small_machine();
  std::swap(machine.devices[0].uuid, machine.devices[2].uuid);
  auto site = Site::open(faulty(), machine, kLeastRoom);
  ASSERT_TRUE(site.ok()) << site.status().text();
  ASSERT_EQ((*site)->gpus().size(), 3u);
  EXPECT_EQ((*site)->gpus()[0].id, "gpu0");
  EXPECT_EQ((*site)->gpus()[0].device, 2);
  EXPECT_EQ((*site)->hosts()[0].id, "host0");
}

TEST(Site, LeavesOutWhatThisProcessCannotSee) {
  machine::Machine machine = small_machine();
  machine.devices[1].uuid = "GPU-elsewhere";
  auto site = Site::open(faulty(), machine, kLeastRoom);
  ASSERT_TRUE(site.ok());
  EXPECT_EQ((*site)->gpus().size(), 2u);
  EXPECT_EQ((*site)->hidden(), std::vector<std::string>{"gpu1"});
}

TEST(Site, SaysWhenNothingIsVisible) {
  machine::Machine machine = small_machine();
  for (machine::Device& device : machine.devices) device.uuid.clear();
  EXPECT_EQ(Site::open(faulty(), machine, kLeastRoom).status().code(), Code::unsupported);
}

TEST(Site, TakesSmallerBuffersWhereMemoryIsShort) {
  auto executor = faulty();
  executor->most_bytes = 20 * MiB;
  const machine::Machine machine = small_machine();
  auto site = Site::open(executor, machine, 64 * MiB);
  ASSERT_TRUE(site.ok());
  EXPECT_EQ((*site)->room(), 16 * MiB);
  EXPECT_EQ((*site)->gpus()[0].source.bytes(), 16 * MiB);
  executor->most_bytes = MiB;
  EXPECT_EQ(Site::open(executor, machine, 64 * MiB).status().code(), Code::out_of_memory);
}

TEST(Site, TheGpuThatSendsDrivesAndTheOneThatReadsHostMemory) {
  auto site = Site::open(faulty(), small_machine(), kLeastRoom);
  ASSERT_TRUE(site.ok());
  const auto& gpus = (*site)->gpus();
  const Stop& host = (*site)->hosts()[0];
  EXPECT_EQ(driver_of(gpus[1], gpus[2]), 1);
  EXPECT_EQ(driver_of(gpus[1], host), 1);
  EXPECT_EQ(driver_of(host, gpus[2]), 2);
}

}  // namespace
}  // namespace sennit::bench::measure
