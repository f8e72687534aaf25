#include "machine/catalogue.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "machine/document.h"
#include "machine/made_up.h"

namespace sennit::machine {
namespace {

TEST(Shipped, MachinesAreThereUnderTheirNames) {
  std::set<std::string> names;
  for (const std::filesystem::path& file : shipped()) names.insert(file.stem().string());
  for (const char* name : {"hgx-h200-4", "mist", "cedar", "beluga", "helios", "ri2", "cscs", "dgx-1v", "dgx-a100",
                           "dgx-h100", "dgx-b200"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Shipped, MachinesAreValidAndSayWhereEveryFigureComesFrom) {
  for (const std::filesystem::path& file : shipped()) {
    const Result<Machine> machine = load(file.stem().string());
    ASSERT_TRUE(machine.ok()) << machine.status().text();
    EXPECT_EQ(machine->name, file.stem().string());
    EXPECT_FALSE(machine->description.empty()) << file;
    EXPECT_FALSE(machine->references.empty()) << file;
    EXPECT_EQ(machine->date.size(), 10u) << file;
    for (const Link& link : machine->links) {
      EXPECT_FALSE(link.forward_gbps.note.empty()) << file << link.from << link.to;
      EXPECT_FALSE(link.backward_gbps.note.empty()) << file << link.from << link.to;
    }
    for (const StagedPath& staged : machine->staged) {
      EXPECT_FALSE(staged.startup_us.note.empty()) << file;
      EXPECT_FALSE(staged.rate_gbps.note.empty()) << file;
    }
  }
}

TEST(Shipped, MachinesReachEveryGpuFromEveryHost) {
  for (const std::filesystem::path& file : shipped()) {
    const Machine machine = *load(file.string());
    std::set<std::string> reached{machine.devices.front().id};
    for (std::size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const Link& link : machine.links) {
        if (reached.contains(link.from)) reached.insert(link.to);
        if (reached.contains(link.to)) reached.insert(link.from);
      }
    }
    for (const Device& device : machine.devices) EXPECT_TRUE(reached.contains(device.id)) << file << device.id;
  }
}

// Every GPU has all NVLinks of its generation, and a network card at the PCIe switch it hangs off.
TEST(Shipped, DgxMachinesAreWiredAsTheirGuidesSay) {
  struct Wired {
    const char* name;
    int nvlinks, nics;
  };
  for (const Wired& wired :
       {Wired{"dgx-1v", 6, 1}, Wired{"dgx-a100", 12, 2}, Wired{"dgx-h100", 18, 1}, Wired{"dgx-b200", 18, 1}}) {
    const Machine machine = *load(wired.name);
    const auto is = [&](const std::string& id, DeviceKind kind) { return machine.find(id)->kind == kind; };
    int gpus = 0;
    for (const Device& device : machine.devices) {
      if (device.kind != DeviceKind::gpu) continue;
      ++gpus;
      int nvlinks = 0, nics = 0;
      for (const Link& link : machine.links) {
        if (link.kind == LinkKind::nvlink && (link.from == device.id || link.to == device.id)) nvlinks += link.count;
        if (link.from != device.id || !is(link.to, DeviceKind::pcie_switch)) continue;
        for (const Link& other : machine.links)
          if (other.to == link.to && is(other.from, DeviceKind::nic)) ++nics;
      }
      EXPECT_EQ(nvlinks, wired.nvlinks) << wired.name << device.id;
      EXPECT_EQ(nics, wired.nics) << wired.name << device.id;
    }
    EXPECT_EQ(gpus, 8) << wired.name;
  }
}

TEST(Shipped, MeasuredMachineHoldsWhatWasMeasured) {
  const Machine machine = *load("hgx-h200-4");
  const Curve* curve = machine.curve("gpu0", "gpu1", Method::engine, Traffic::one_way);
  ASSERT_NE(curve, nullptr);
  const Curve::Point& last = curve->points.back();
  EXPECT_EQ(last.bytes, 1ull << 30);
  EXPECT_NEAR(double(last.bytes) / last.us / 1000, 395, 1);
  EXPECT_EQ(machine.link("gpu0", "nvswitch0")->forward_gbps.source, Source::measured);
  EXPECT_EQ(machine.find("host0")->read_gbps->value, 157);
  EXPECT_EQ(machine.find("host0")->write_gbps->value, 133);
}

TEST(Shipped, NamesMustNotLeaveTheFolder) {
  EXPECT_EQ(shipped_file("../machines/mist").status().code(), Code::not_found);
  EXPECT_EQ(shipped_file("").status().code(), Code::not_found);
}

}  // namespace
}  // namespace sennit::machine
