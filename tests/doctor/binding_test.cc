#include "doctor/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

/// Two nodes of two processors; gpu0 on node 0, gpu1 on node 1.
BindingReadings two_nodes(const std::set<int>& allowed) {
  BindingReadings readings;
  readings.allowed = allowed;
  readings.nodes = {{0, {0, 1}}, {1, {2, 3}}};
  readings.gpu_nodes = {{"0000:01:00.0", 0}, {"0000:02:00.0", 1}};
  return readings;
}

const Labels& labels() {
  static const Labels made(nvswitch_machine(2, 0));
  return made;
}

TEST(Binding, WorksUnboundAndNearOneGpu) {
  EXPECT_EQ(judge_binding(with_gpus(), two_nodes({0, 1, 2, 3}), labels()).state, State::works);
  const Check near = judge_binding(with_gpus(), two_nodes({2}), labels());
  EXPECT_EQ(near.state, State::works);
  EXPECT_THAT(near.detail, HasSubstr("near gpu1 (node 1); bind ranks that use gpu0 (node 0) elsewhere"));
}

TEST(Binding, IsDegradedFarFromEveryGpu) {
  BindingReadings readings = two_nodes({2, 3});
  readings.gpu_nodes.erase("0000:02:00.0");
  const Check far = judge_binding(with_gpus(), readings, labels());
  EXPECT_EQ(far.state, State::degraded);
  EXPECT_THAT(far.detail, HasSubstr("processors 2-3, far from every GPU it sees: gpu0 (node 0)"));
  EXPECT_THAT(far.fix, HasSubstr("--cpunodebind=0 --membind=0"));
}

TEST(Binding, HasNothingToSayOfOneNodeOrUnknownOnes) {
  BindingReadings one = two_nodes({0});
  one.nodes.erase(1);
  EXPECT_EQ(judge_binding(with_gpus(), one, labels()).state, State::works);
  BindingReadings hidden = two_nodes({0});
  for (auto& [pci, node] : hidden.gpu_nodes) node = -1;
  EXPECT_THAT(judge_binding(with_gpus(), hidden, labels()).detail, HasSubstr("does not say"));
  EXPECT_THAT(judge_binding(without_gpus(), two_nodes({0}), labels()).detail, HasSubstr("1 of 2 NUMA nodes"));
}

TEST(BindingReadings, ComeFromTheKernelsTree) {
  const auto root = scratch();
  write(root / "sys/devices/system/node/node0/cpulist", "0-1\n");
  write(root / "sys/devices/system/node/node1/cpulist", "2-3\n");
  write(root / "sys/devices/system/node/node2/cpulist", "\n");
  write(root / "sys/devices/system/node/online", "0-2\n");
  write(root / "sys/bus/pci/devices/0000:01:00.0/numa_node", "1\n");
  const BindingReadings readings = read_binding({"0000:01:00.0", "0000:02:00.0"}, root);
  EXPECT_EQ(readings.nodes.size(), 2u) << "a node without processors is a device's memory";
  EXPECT_EQ(readings.gpu_nodes.at("0000:01:00.0"), 1);
  EXPECT_EQ(readings.gpu_nodes.at("0000:02:00.0"), -1);
  EXPECT_FALSE(readings.allowed.empty());
}

}  // namespace
}  // namespace sennit::doctor
