#include "bench/measure/trust.h"

#include <gtest/gtest.h>

#include "machine/validate.h"
#include "path/network.h"
#include "small_machine.h"

namespace sennit::bench::measure {
namespace {

using machine::DeviceKind;
using machine::Link;
using machine::LinkKind;
using machine::Machine;

Link link(const char* from, const char* to, LinkKind kind, int count, double gbps) {
  Link made;
  made.from = from, made.to = to, made.kind = kind, made.count = count;
  made.forward_gbps = made.backward_gbps = {gbps, machine::Source::specification, 0, "test"};
  return made;
}

/// Three GPUs behind an NVSwitch, each with PCIe to host0.
Machine switched() {
  Machine machine;
  machine.name = "switched";
  const auto add = [&](const char* id, DeviceKind kind) {
    machine::Device device;
    device.id = id, device.kind = kind;
    machine.devices.push_back(device);
  };
  for (const char* id : {"gpu0", "gpu1", "gpu2"}) add(id, DeviceKind::gpu);
  add("host0", DeviceKind::host);
  add("nvswitch0", DeviceKind::nvswitch);
  for (const char* id : {"gpu0", "gpu1", "gpu2"}) {
    machine.links.push_back(link(id, "nvswitch0", LinkKind::nvlink, 18, 400));
    machine.links.push_back(link(id, "host0", LinkKind::pcie, 1, 50));
  }
  return machine;
}

bool joined(const Machine& machine, const char* from, const char* to) {
  const path::Network network(machine);
  return network.find_hop(network.index(from), network.index(to)).exists();
}

TEST(Cut, LeavesAMachineThatWorksAlone) {
  Machine machine = switched();
  EXPECT_TRUE(cut(machine, {}).empty());
  EXPECT_EQ(machine.links.size(), 6u);
}

TEST(Cut, BehindASwitchTheDeviceThatFailsMostGoes) {
  Machine machine = switched();
  const auto taken = cut(machine, {{"gpu0", "gpu1"}, {"gpu1", "gpu2"}, {"gpu2", "gpu1"}});
  EXPECT_FALSE(joined(machine, "gpu0", "gpu1"));
  EXPECT_FALSE(joined(machine, "gpu1", "gpu2"));
  EXPECT_TRUE(joined(machine, "gpu0", "gpu2")) << "gpu1 alone is to blame";
  EXPECT_TRUE(joined(machine, "gpu1", "host0")) << "staging through the host still works";
  EXPECT_EQ(taken.size(), 2u) << "the NVLinks, and peer access over PCIe";
  EXPECT_TRUE(machine::validate(machine).ok());
}

TEST(Cut, ADirectLinkGoesWithoutHarmToOthers) {
  Machine machine = small_machine();
  const auto before = machine.links.size();
  const auto taken = cut(machine, {{"gpu0", "gpu1"}});
  EXPECT_FALSE(joined(machine, "gpu0", "gpu1"));
  EXPECT_FALSE(joined(machine, "gpu1", "gpu0")) << "a link has one flag for both directions";
  EXPECT_TRUE(joined(machine, "gpu0", "gpu2"));
  EXPECT_EQ(machine.links.size(), before) << "only peer access is lost";
  EXPECT_FALSE(taken.empty());
}

TEST(Cut, AHostLinkThatFailsGoes) {
  Machine machine = switched();
  cut(machine, {{"host0", "gpu2"}, {"gpu2", "host0"}});
  EXPECT_FALSE(joined(machine, "gpu2", "host0"));
  EXPECT_TRUE(joined(machine, "gpu1", "host0"));
  EXPECT_TRUE(joined(machine, "gpu2", "gpu0"));
}

TEST(Cut, EndsWhenEverythingFails) {
  Machine machine = switched();
  Pairs all;
  for (const char* from : {"gpu0", "gpu1", "gpu2", "host0"})
    for (const char* to : {"gpu0", "gpu1", "gpu2", "host0"})
      if (std::string_view(from) != to) all.insert({from, to});
  cut(machine, all);
  for (const auto& [from, to] : all) EXPECT_FALSE(joined(machine, from.c_str(), to.c_str())) << from << to;
}

TEST(Likeness, IsOfLinksAndModels) {
  Machine machine = switched();
  EXPECT_EQ(likeness(machine, "gpu0", "gpu1"), likeness(machine, "gpu2", "gpu0"));
  EXPECT_NE(likeness(machine, "gpu0", "gpu1"), likeness(machine, "gpu0", "host0"));
  machine.links[2].count = 12;
  EXPECT_NE(likeness(machine, "gpu0", "gpu1"), likeness(machine, "gpu0", "gpu2"));
  machine.links[2].count = 18;
  machine.devices[1].model = std::string("another model");
  EXPECT_NE(likeness(machine, "gpu0", "gpu1"), likeness(machine, "gpu0", "gpu2"));
}

}  // namespace
}  // namespace sennit::bench::measure
