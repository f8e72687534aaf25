#include "doctor/visibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "made_up.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

DriverReadings shown(int count) {
  DriverReadings driver;
  driver.library = true;
  for (int i = 0; i < count; ++i)
    driver.devices.push_back({"0000:0" + std::to_string(i + 1) + ":00.0", "NVIDIA H200"});
  return driver;
}

VisibilityReadings machine_of(int count) {
  VisibilityReadings readings;
  readings.in_proc = readings.nodes = count;
  return readings;
}

TEST(Gpus, AreCountedByModel) {
  DriverReadings mixed = shown(3);
  mixed.devices[0].model = "NVIDIA A100";
  EXPECT_EQ(judge_gpus(with_gpus(), mixed).detail, "1 × NVIDIA A100, 2 × NVIDIA H200");
  EXPECT_THAT(judge_gpus(with_gpus(), shown(1)).detail, HasSubstr("one GPU only"));
  const Check none = judge_gpus(with_gpus(), shown(0));
  EXPECT_EQ(none.state, State::missing);
  EXPECT_TRUE(none.needed);
}

TEST(Hidden, NoneAreWhenCudaShowsAll) {
  const Check check = judge_hidden(with_gpus(), machine_of(4), nvswitch_machine(4, 18), shown(4));
  EXPECT_EQ(check.state, State::works);
  EXPECT_EQ(check.detail, "CUDA shows all 4 GPUs");
}

TEST(Hidden, BySlurmsControlGroups) {
  VisibilityReadings readings = machine_of(4);
  readings.slurm = true;
  const Check check = judge_hidden(with_gpus(), readings, nvswitch_machine(1, 18), shown(1));
  EXPECT_EQ(check.state, State::degraded);
  EXPECT_THAT(check.detail, HasSubstr("3 of 4 GPUs"));
  EXPECT_THAT(check.fix, HasSubstr("--tres-bind=gres/gpu:none"));
}

TEST(Hidden, ByDevicePermissions) {
  VisibilityReadings readings = machine_of(2);
  readings.forbidden = 1;
  EXPECT_THAT(judge_hidden(with_gpus(), readings, nvswitch_machine(2, 0), shown(1)).fix, HasSubstr("chmod"));
  readings.group = readings.container = true;
  EXPECT_THAT(judge_hidden(with_gpus(), readings, nvswitch_machine(2, 0), shown(1)).fix, HasSubstr("--gpus all"));
}

TEST(Hidden, ByTheUsersOwnVariable) {
  VisibilityReadings readings = machine_of(4);
  readings.masked = true;
  readings.mask = "0,1";
  const Check check = judge_hidden(with_gpus(), readings, nvswitch_machine(4, 18), shown(2));
  EXPECT_EQ(check.state, State::degraded);
  EXPECT_THAT(check.detail, HasSubstr("CUDA_VISIBLE_DEVICES='0,1' hides 2 of 4 GPUs"));
  EXPECT_EQ(check.fix, "unset CUDA_VISIBLE_DEVICES");
}

TEST(Hidden, ByNothingThatCanBeSeen) {
  EXPECT_THAT(judge_hidden(with_gpus(), machine_of(4), nvswitch_machine(4, 18), shown(3)).fix, HasSubstr("xid"));
  EXPECT_EQ(judge_hidden(with_gpus(), machine_of(0), {}, shown(0)).state, State::not_applicable);
  EXPECT_EQ(judge_hidden(told_host(), machine_of(4), {}, shown(0)).state, State::not_applicable);
}

TEST(VisibilityReadings, CountProcAndDeviceFiles) {
  const auto root = scratch();
  write(root / "proc/driver/nvidia/gpus/0000:01:00.0/information", "");
  write(root / "proc/driver/nvidia/gpus/0000:02:00.0/information", "");
  for (const char* node : {"nvidia0", "nvidia1", "nvidia12", "nvidiactl", "nvidia-uvm", "null"})
    write(root / "dev" / node, "");
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const VisibilityReadings readings = read_visibility(root);
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(readings.in_proc, 2);
  EXPECT_EQ(readings.nodes, 3);
  EXPECT_EQ(readings.forbidden, 0);
  EXPECT_TRUE(readings.masked) << "an empty list hides all GPUs";
  EXPECT_FALSE(read_visibility(root).masked);
  EXPECT_EQ(read_visibility(root / "nowhere").nodes, 0);
}

}  // namespace
}  // namespace sennit::doctor
