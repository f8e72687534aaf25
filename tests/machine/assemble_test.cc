#include "machine/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "machine/validate.h"

namespace sennit::machine {
namespace {

using testing::HasSubstr;

NvmlGpu nvml_gpu(int index, const std::string& pci, const std::string& model) {
  NvmlGpu gpu;
  gpu.name = model;
  gpu.uuid = fmt::format("GPU-{:08d}", index);
  gpu.pci = pci;
  gpu.memory_bytes = 1ull << 37;
  gpu.pcie_max_generation = 5;
  gpu.pcie_width = gpu.pcie_max_width = 16;
  return gpu;
}

void add_links(NvmlGpu& gpu, int count, NvlinkRemote remote, const std::string& target, double raw) {
  for (int i = 0; i < count; ++i) gpu.nvlinks.push_back({int(gpu.nvlinks.size()), true, remote, target, raw});
}

PciDevice pci_gpu(const std::string& pci, int numa, std::vector<std::string> switches = {}) {
  PciDevice device;
  device.pci = pci;
  device.vendor = 0x10de;
  device.device = 0x2335;
  device.numa = numa;
  device.switches = std::move(switches);
  return device;
}

PciDevice pci_switch(const std::string& pci, int numa) {
  PciDevice device = pci_gpu(pci, numa);
  device.kind = PciKind::bridge;
  device.generation = 4;
  device.width = 16;
  return device;
}

/// Four H200 behind an NVSwitch, in a virtual machine that hides switches, sockets and PCIe links.
Readings h200_in_a_vm() {
  Readings readings;
  readings.date = "2026-11-21";
  readings.nvml.present = true;
  readings.nvml.driver = "580.159";
  readings.nvml.cuda = "13.0";
  readings.sysfs.host = "vm";
  readings.sysfs.processor = "Intel(R) Xeon(R) Processor";
  readings.sysfs.nodes = {{0, 540ull << 30, 64, 0}};
  for (int i = 0; i < 4; ++i) {
    const std::string pci = fmt::format("0000:00:{:02x}.0", 6 + i);
    NvmlGpu gpu = nvml_gpu(i, pci, "NVIDIA H200");
    add_links(gpu, 18, NvlinkRemote::nvswitch, "", 26.562);
    gpu.fabric = true;
    readings.nvml.gpus.push_back(gpu);
    readings.sysfs.devices.push_back(pci_gpu(pci, -1));
    readings.extras.push_back({fmt::format("00000000:00:{:02X}.0", 6 + i), 132, 3});
    for (int j = 0; j < i; ++j) readings.nvml.pairs.push_back({j, i, true, std::nullopt});
  }
  return readings;
}

void expect_valid(const Machine& machine) {
  EXPECT_EQ(validate(machine).text(), "ok");
}

TEST(Assemble, FourH200BehindNvswitchInAVirtualMachine) {
  const Machine machine = assemble(h200_in_a_vm());
  expect_valid(machine);
  EXPECT_EQ(machine.devices.size(), 6u);  // 4 GPUs, a host, an NVSwitch
  EXPECT_EQ(machine.links.size(), 8u);
  for (int i = 0; i < 4; ++i) {
    const std::string gpu = fmt::format("gpu{}", i);
    EXPECT_EQ(machine.find(gpu)->sm_count, 132);
    EXPECT_EQ(machine.find(gpu)->copy_engines, 3);
    EXPECT_EQ(machine.find(gpu)->numa, 0) << "one NUMA node: there is no other";
    const Link* nvlink = machine.link(gpu, "nvswitch0");
    ASSERT_NE(nvlink, nullptr);
    EXPECT_EQ(nvlink->count, 18);
    EXPECT_NEAR(nvlink->forward_gbps.value, 397, 1);
    EXPECT_EQ(nvlink->forward_gbps.source, Source::specification);
    const Link* pcie = machine.link(gpu, "host0");
    ASSERT_NE(pcie, nullptr);
    EXPECT_EQ(pcie->forward_gbps.value, 55);
    EXPECT_FALSE(pcie->peer_access) << "peers are reached over NVLink; nothing is ever sent over PCIe";
  }
  EXPECT_THAT(machine.description, HasSubstr("flat"));
  EXPECT_EQ(machine.fingerprint.size(), 16u);
}

TEST(Assemble, NumbersGpusByAddressWhateverTheOrderOfNvml) {
  Readings readings = h200_in_a_vm();
  const Machine one = assemble(readings);
  std::ranges::reverse(readings.nvml.gpus);
  readings.nvml.pairs.clear();
  const Machine other = assemble(readings);
  EXPECT_EQ(other.find("gpu0")->uuid, "GPU-00000000");
  EXPECT_EQ(other.fingerprint, one.fingerprint);
}

TEST(Assemble, TakesHiddenNvlinkTargetsForASwitch) {
  Readings readings = h200_in_a_vm();
  for (NvmlGpu& gpu : readings.nvml.gpus)
    for (NvmlNvlink& link : gpu.nvlinks) link.remote = NvlinkRemote::unknown;
  EXPECT_EQ(assemble(readings).link("gpu3", "nvswitch0")->count, 18);
}

TEST(Assemble, HybridCubeMeshWithoutSwitch) {
  // Each V100 has six links: to its three neighbours on the board half (one pair doubled) and across.
  constexpr int kMesh[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
                               {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                               {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  Readings readings;
  readings.nvml.present = true;
  readings.sysfs.vendor = "GenuineIntel";
  readings.sysfs.family = 6;
  readings.sysfs.model = 79;
  readings.sysfs.nodes = {{0, 1ull << 38, 20, 0}, {1, 1ull << 38, 20, 1}};
  const auto address = [](int i) { return fmt::format("0000:{:02x}:00.0", 6 + i); };
  for (int i = 0; i < 8; ++i) {
    NvmlGpu gpu = nvml_gpu(i, address(i), "Tesla V100-SXM2-16GB");
    gpu.pcie_max_generation = 3;
    for (int j = 0; j < 8; ++j) add_links(gpu, kMesh[i][j], NvlinkRemote::gpu, address(j), 25.781);
    readings.nvml.gpus.push_back(gpu);
    readings.sysfs.devices.push_back(pci_gpu(address(i), i / 4));
    for (int j = 0; j < i; ++j) readings.nvml.pairs.push_back({j, i, kMesh[i][j] > 0, i / 4 == j / 4});
  }
  const Machine machine = assemble(readings);
  expect_valid(machine);
  int total = 0;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < i; ++j) {
      const Link* link = machine.link(fmt::format("gpu{}", i), fmt::format("gpu{}", j));
      EXPECT_EQ(link != nullptr ? link->count : 0, kMesh[i][j]) << i << " " << j;
      total += link != nullptr ? link->count : 0;
    }
  EXPECT_EQ(total, 24);
  EXPECT_EQ(machine.find("nvswitch0"), nullptr);
  EXPECT_NEAR(machine.link("gpu0", "gpu3")->forward_gbps.value, 48, 1);
  EXPECT_NE(machine.link("gpu5", "host1"), nullptr);
  EXPECT_EQ(machine.link("host0", "host1")->kind, LinkKind::socket);
  EXPECT_FALSE(machine.link("host0", "host1")->peer_access) << "peers across sockets only by NVLink";
  EXPECT_EQ(machine.link("host0", "host1")->forward_gbps.source, Source::assumed);
}

TEST(Assemble, PcieOnlyWithTwoSwitchesAndTwoSockets) {
  Readings readings;
  readings.nvml.present = true;
  readings.sysfs.nodes = {{0, 1ull << 38, 16, 0}, {1, 1ull << 38, 16, 1}};
  for (int i = 0; i < 4; ++i) {
    const std::string pci = fmt::format("0000:{}b:00.0", i + 1);
    const std::string above = i < 2 ? "0000:16:00.0" : "0000:a6:00.0";
    NvmlGpu gpu = nvml_gpu(i, pci, "NVIDIA A40");
    gpu.pcie_max_generation = 4;
    readings.nvml.gpus.push_back(gpu);
    readings.sysfs.devices.push_back(pci_gpu(pci, i / 2, {above}));
    for (int j = 0; j < i; ++j) readings.nvml.pairs.push_back({j, i, false, i / 2 == j / 2});
  }
  readings.sysfs.devices.push_back(pci_switch("0000:16:00.0", 0));
  readings.sysfs.devices.push_back(pci_switch("0000:a6:00.0", 1));
  PciDevice nic = pci_gpu("0000:17:00.0", 0, {"0000:16:00.0"});
  nic.kind = PciKind::nic;
  nic.name = "mlx5_0";
  nic.port_gbps = 25;
  readings.sysfs.devices.push_back(nic);

  const Machine machine = assemble(readings);
  expect_valid(machine);
  EXPECT_EQ(machine.link("gpu0", "pcie_switch0")->forward_gbps.value, 26);
  EXPECT_EQ(machine.link("gpu3", "pcie_switch1")->forward_gbps.value, 26);
  EXPECT_NE(machine.link("pcie_switch0", "host0"), nullptr);
  EXPECT_NE(machine.link("pcie_switch1", "host1"), nullptr);
  EXPECT_EQ(machine.link("pcie_switch1", "host0"), nullptr);
  EXPECT_EQ(machine.link("gpu0", "host0"), nullptr);
  EXPECT_TRUE(machine.link("gpu0", "pcie_switch0")->peer_access);
  EXPECT_FALSE(machine.link("host0", "host1")->peer_access)
      << "NVML says that GPUs of different sockets are no peers";
  EXPECT_EQ(machine.find("nic0")->read_gbps->value, 25);
  EXPECT_EQ(machine.find("0000:17:00.0")->id, "nic0");
  EXPECT_NE(machine.link("nic0", "pcie_switch0"), nullptr);
}

TEST(Assemble, RemembersThatPeersCannotReachEachOtherOverPcie) {
  Readings readings;
  readings.nvml.present = true;
  readings.sysfs.nodes = {{0, 1ull << 38, 16, 0}};
  for (int i = 0; i < 2; ++i)
    readings.nvml.gpus.push_back(nvml_gpu(i, fmt::format("0000:0{}:00.0", i + 1), "NVIDIA L40"));
  readings.nvml.pairs.push_back({0, 1, false, false});
  EXPECT_FALSE(assemble(readings).link("gpu0", "host0")->peer_access);
  readings.nvml.pairs[0].peer_read = true;
  EXPECT_TRUE(assemble(readings).link("gpu0", "host0")->peer_access);
  readings.nvml.pairs.clear();
  EXPECT_TRUE(assemble(readings).link("gpu0", "host0")->peer_access) << "unknown: a probe decides";
}

TEST(Assemble, PowerWithNvlinkToTheProcessor) {
  Readings readings;
  readings.nvml.present = true;
  readings.sysfs.vendor = "IBM";
  // AC922 numbers its memory nodes 0 and 8; nodes 252 to 255 are GPU memory.
  readings.sysfs.nodes = {
      {0, 1ull << 37, 80, 0}, {8, 1ull << 37, 80, 8}, {254, 1ull << 34, 0, -1}, {255, 1ull << 34, 0, -1}};
  NvmlGpu gpu = nvml_gpu(0, "0035:03:00.0", "Tesla V100-SXM2-32GB");
  add_links(gpu, 3, NvlinkRemote::host, "", 25.781);
  add_links(gpu, 3, NvlinkRemote::gpu, "0035:04:00.0", 25.781);  // hidden by a cgroup
  readings.nvml.gpus.push_back(gpu);
  readings.sysfs.devices.push_back(pci_gpu("0035:03:00.0", 8));
  const Machine machine = assemble(readings);
  expect_valid(machine);
  const Link* link = machine.link("gpu0", "host8");
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->kind, LinkKind::nvlink);
  EXPECT_EQ(link->count, 3);
  EXPECT_EQ(machine.find("host254"), nullptr);
  EXPECT_EQ(machine.find("nvswitch0"), nullptr) << "links to a GPU that is hidden lead nowhere";
}

TEST(Assemble, NoGpuAtAll) {
  Readings readings;
  readings.nvml.problem = "libnvidia-ml.so.1 cannot be opened";
  readings.sysfs.nodes = {{0, 1ull << 34, 2, 0}};
  const Machine machine = assemble(readings);
  expect_valid(machine);
  ASSERT_EQ(machine.devices.size(), 1u);
  EXPECT_EQ(machine.devices[0].id, "host0");
  EXPECT_EQ(machine.name, "this-machine");
}

TEST(Assemble, GpusWithoutNvml) {
  Readings readings = h200_in_a_vm();
  readings.nvml = {};
  readings.nvml.problem = "libnvidia-ml.so.1 cannot be opened";
  const Machine machine = assemble(readings);
  expect_valid(machine);
  EXPECT_EQ(machine.find("gpu3")->pci, "0000:00:09.0");
  EXPECT_EQ(machine.find("gpu3")->uuid, "");
  EXPECT_EQ(machine.find("gpu3")->sm_count, 132);
  EXPECT_EQ(machine.link("gpu3", "host0")->forward_gbps.source, Source::assumed);
  EXPECT_THAT(machine.description, HasSubstr("libnvidia-ml.so.1 cannot be opened"));
}

TEST(Assemble, LeavesOutGpusThatNvmlHides) {
  Readings readings = h200_in_a_vm();
  readings.nvml.gpus.resize(1);
  readings.nvml.pairs.clear();
  EXPECT_EQ(assemble(readings).find("gpu1"), nullptr);
}

TEST(Assemble, LetsHwlocFillGapsOnly) {
  Readings readings = h200_in_a_vm();
  readings.hwloc.memory_bytes[0] = 7;
  readings.hwloc.processor = "other";
  EXPECT_EQ(assemble(readings).find("host0")->memory_bytes, 540ull << 30);
  readings.sysfs.nodes[0].memory_bytes = 0;
  readings.sysfs.processor.clear();
  EXPECT_EQ(assemble(readings).find("host0")->memory_bytes, 7u);
  EXPECT_EQ(assemble(readings).find("host0")->model, "other");
}

TEST(HostMachine, JoinsEveryDeviceToTheHostAndToEachOther) {
  SysfsReadings sysfs;
  sysfs.host = "laptop";
  sysfs.nodes = {{0, 8ull << 30, 2, 0}};
  const Machine machine = host_machine(4, sysfs, "2026-11-21");
  expect_valid(machine);
  EXPECT_EQ(machine.find("HOST-3")->id, "gpu3");
  EXPECT_EQ(machine.find("gpu3")->model, "host executor device");
  for (int i = 0; i < 4; ++i) {
    EXPECT_NE(machine.link(fmt::format("gpu{}", i), "host0"), nullptr);
    for (int j = 0; j < i; ++j) {
      const Link* link = machine.link(fmt::format("gpu{}", i), fmt::format("gpu{}", j));
      ASSERT_NE(link, nullptr);
      EXPECT_EQ(link->kind, LinkKind::pcie);
      EXPECT_EQ(link->forward_gbps.source, Source::assumed);
    }
  }
  EXPECT_THAT(machine.description, HasSubstr("pretended"));
  EXPECT_NE(machine.fingerprint, host_machine(2, sysfs, "2026-11-21").fingerprint);
}

}  // namespace
}  // namespace sennit::machine
