#include "bench/measure/rig.h"

#include <gtest/gtest.h>

#include "faulty_executor.h"
#include "small_machine.h"

namespace sennit::bench::measure {
namespace {

TEST(Rig, MatchesDevicesByUuid) {
  machine::Machine machine = small_machine();
  std::swap(machine.devices[0].uuid, machine.devices[2].uuid);
  auto rig = Rig::open(faulty(), machine, kLeastRoom);
  ASSERT_TRUE(rig.ok()) << rig.status().text();
  ASSERT_EQ((*rig)->gpus().size(), 3u);
  EXPECT_EQ((*rig)->gpus()[0].id, "gpu0");
  EXPECT_EQ((*rig)->gpus()[0].device, 2);
  EXPECT_EQ((*rig)->hosts()[0].id, "host0");
}

TEST(Rig, LeavesOutWhatThisProcessCannotSee) {
  machine::Machine machine = small_machine();
  machine.devices[1].uuid = "GPU-elsewhere";
  auto rig = Rig::open(faulty(), machine, kLeastRoom);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ((*rig)->gpus().size(), 2u);
  EXPECT_EQ((*rig)->hidden(), std::vector<std::string>{"gpu1"});
}

TEST(Rig, SaysWhenNothingIsVisible) {
  machine::Machine machine = small_machine();
  for (machine::Device& device : machine.devices) device.uuid.clear();
  EXPECT_EQ(Rig::open(faulty(), machine, kLeastRoom).status().code(), Code::unsupported);
}

TEST(Rig, TakesSmallerBuffersWhereMemoryIsShort) {
  auto executor = faulty();
  executor->most_bytes = 20 * MiB;
  const machine::Machine machine = small_machine();
  auto rig = Rig::open(executor, machine, 64 * MiB);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ((*rig)->room(), 16 * MiB);
  EXPECT_EQ((*rig)->gpus()[0].source.bytes(), 16 * MiB);
  executor->most_bytes = MiB;
  EXPECT_EQ(Rig::open(executor, machine, 64 * MiB).status().code(), Code::out_of_memory);
}

TEST(Rig, TheGpuThatSendsDrivesAndTheOneThatReadsHostMemory) {
  auto rig = Rig::open(faulty(), small_machine(), kLeastRoom);
  ASSERT_TRUE(rig.ok());
  const auto& gpus = (*rig)->gpus();
  const Stop& host = (*rig)->hosts()[0];
  EXPECT_EQ(driver_of(gpus[1], gpus[2]), 1);
  EXPECT_EQ(driver_of(gpus[1], host), 1);
  EXPECT_EQ(driver_of(host, gpus[2]), 2);
}

}  // namespace
}  // namespace sennit::bench::measure
