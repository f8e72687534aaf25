#include "net/leaders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/known.h"
#include "path/machines.h"
#include "places.h"

namespace sennit::net {
namespace {

using testing::ElementsAre;

machine::Machine machine_called(const std::string& name) {
  return machine::known_machine(places::source("machines/" + name + ".json"), "").value().machine;
}

/// The ranks that lead where ranks have these GPUs.
std::vector<int> leaders(const machine::Machine& machine, const std::vector<int>& gpus) {
  std::vector<std::string> devices;
  for (const int gpu : gpus) devices.push_back(gpu < 0 ? "" : "gpu" + std::to_string(gpu));
  return leaders_of(machine, devices);
}

/// Four GPUs behind two switches with a NIC at each.
machine::Machine two_nics() {
  machine::Machine made = path::pcie_only();
  for (int i = 0; i < 2; ++i) {
    machine::Device nic;
    nic.id = "nic" + std::to_string(i);
    nic.kind = machine::DeviceKind::nic;
    made.devices.push_back(nic);
    std::string at;
    for (const machine::Link& each : made.links)
      if (each.from == "gpu" + std::to_string(2 * i))
        at = each.to;
      else if (each.to == "gpu" + std::to_string(2 * i))
        at = each.from;
    made.links.push_back(path::link(at, nic.id, machine::LinkKind::pcie, 1, 12));
  }
  return made;
}

TEST(Leaders, AreAllRanksWhereEachGpuHasANicOfItsOwn) {
  EXPECT_THAT(leaders(machine_called("dgx-h100"), {0, 1, 2, 3, 4, 5, 6, 7}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(leaders(machine_called("dgx-h100"), {5, 2}), testing::UnorderedElementsAre(0, 1));
}

TEST(Leaders, AreOneForEachNic) {
  const machine::Machine machine = two_nics();
  EXPECT_THAT(leaders(machine, {0, 1, 2, 3}), ElementsAre(0, 2));
  EXPECT_THAT(leaders(machine, {3, 2, 1, 0}), ElementsAre(2, 0)) << "in the order of NICs";
  EXPECT_THAT(leaders(machine, {1, 0}), ElementsAre(0)) << "the other NIC is nobody's";
  EXPECT_THAT(leaders(machine, {-1, 3, 3}), ElementsAre(1)) << "a rank whose GPU is unknown does not lead";
}

TEST(Leaders, AreThoseWithTheWidestWayToTheirNic) {
  machine::Machine machine = two_nics();
  for (machine::Link& link : machine.links)
    if (link.from == "gpu0" || link.to == "gpu0") link.forward_gbps.value = link.backward_gbps.value = 3;
  EXPECT_THAT(leaders(machine, {0, 1, 2, 3}), ElementsAre(1, 2));
}

TEST(Leaders, AreOneForEachSocketWhereThereIsNoNic) {
  machine::Machine machine = path::pcie_only();
  for (machine::Device& device : machine.devices) device.numa = device.id == "gpu1" || device.id == "gpu3" ? 1 : 0;
  EXPECT_THAT(leaders(machine, {0, 1, 2, 3}), ElementsAre(0, 1));
  EXPECT_THAT(leaders(machine, {2, 0}), ElementsAre(0));
  EXPECT_THAT(leaders(machine, {-1, -1}), ElementsAre(0)) << "of unknown GPUs, one";
}

}  // namespace
}  // namespace sennit::net
