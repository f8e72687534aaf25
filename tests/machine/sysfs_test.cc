#include "machine/sysfs.h"

#include <gtest/gtest.h>

#include "machine/made_up.h"

namespace sennit::machine {
namespace {

namespace fs = std::filesystem;

/// A made-up root folder with the kernel's layout.
class Tree {
 public:
  explicit Tree(fs::path root) : root_(std::move(root)) {}
  const fs::path& root() const { return root_; }

  void file(const std::string& path, const std::string& text) { write_text(root_ / path, text + "\n"); }

  /// A PCI device at a path below sys/devices, such as "pci0000:15/0000:15:01.0/0000:16:00.0".
  void pci(const std::string& path, const std::string& type, const std::string& vendor, int numa,
           const std::string& speed = "", const std::string& width = "") {
    const std::string folder = "sys/devices/" + path + "/";
    file(folder + "class", type);
    file(folder + "vendor", vendor);
    file(folder + "device", "0x2335");
    file(folder + "numa_node", std::to_string(numa));
    if (!speed.empty()) file(folder + "max_link_speed", speed);
    if (!width.empty()) file(folder + "max_link_width", width);
    fs::create_directories(root_ / "sys/bus/pci/devices");
    fs::create_directory_symlink(root_ / "sys/devices" / path,
                                 root_ / "sys/bus/pci/devices" / fs::path(path).filename());
  }

  void node(int number, const std::string& processors, const std::string& kilobytes, int first, int package) {
    const std::string folder = "sys/devices/system/node/node" + std::to_string(number) + "/";
    file(folder + "cpulist", processors);
    file(folder + "meminfo", "Node " + std::to_string(number) + " MemTotal:       " + kilobytes + " kB");
    if (!processors.empty())
      file("sys/devices/system/cpu/cpu" + std::to_string(first) + "/topology/physical_package_id",
           std::to_string(package));
  }

 private:
  fs::path root_;
};

TEST(ReadSysfs, SeesSwitchesAndSockets) {
  Tree tree(scratch_folder());
  tree.file("proc/sys/kernel/hostname", "node17");
  tree.file("proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon "
            "X\nprocessor\t: 1");
  tree.node(0, "0-1,4", "1024", 0, 0);
  tree.node(1, "2-3", "2048", 2, 1);
  tree.node(2, "", "4096", 0, 0);  // memory of a device: no processors
  // Root port, upstream port, downstream ports with a GPU and a NIC.
  const std::string up = "pci0000:15/0000:15:01.0/0000:16:00.0";
  tree.pci("pci0000:15/0000:15:01.0", "0x060400", "0x8086", 0, "32.0 GT/s PCIe", "16");
  tree.pci(up, "0x060400", "0x1000", 0, "32.0 GT/s PCIe", "16");
  tree.pci(up + "/0000:17:00.0", "0x060400", "0x1000", 0, "16.0 GT/s PCIe", "8");
  tree.pci(up + "/0000:17:00.0/0000:18:00.0", "0x030200", "0x10de", 0, "32.0 GT/s PCIe", "16");
  tree.pci(up + "/0000:17:01.0", "0x060400", "0x1000", 0, "32.0 GT/s PCIe", "16");
  tree.pci(up + "/0000:17:01.0/0000:19:00.0", "0x020700", "0x15b3", 0, "32.0 GT/s PCIe", "16");
  // Another maker's display adapter and a disk: not ours.
  tree.pci("pci0000:00/0000:00:02.0", "0x030000", "0x1a03", 0);
  tree.pci("pci0000:00/0000:00:03.0", "0x010802", "0x144d", 0);
  fs::create_directories(tree.root() / "sys/class/infiniband/mlx5_0/ports/1");
  fs::create_directory_symlink(tree.root() / "sys/devices" / up / "0000:17:01.0/0000:19:00.0",
                               tree.root() / "sys/class/infiniband/mlx5_0/device");
  tree.file("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");

  const SysfsReadings readings = read_sysfs(tree.root());
  EXPECT_EQ(readings.host, "node17");
  EXPECT_EQ(readings.processor, "Xeon X");
  EXPECT_EQ(readings.vendor, "GenuineIntel");
  EXPECT_EQ(readings.model, 143);
  EXPECT_EQ(readings.processors, 2);
  ASSERT_EQ(readings.nodes.size(), 3u);
  EXPECT_EQ(readings.nodes[0].processors, 3);
  EXPECT_EQ(readings.nodes[1].memory_bytes, 2048u * 1024);
  EXPECT_EQ(readings.nodes[1].package, 1);
  EXPECT_EQ(readings.nodes[2].processors, 0);
  ASSERT_EQ(readings.devices.size(), 3u);
  EXPECT_EQ(readings.devices[0].pci, "0000:16:00.0");
  EXPECT_EQ(readings.devices[0].kind, PciKind::bridge);
  EXPECT_TRUE(readings.devices[0].switches.empty()) << "the root port is part of the processor";
  const PciDevice& gpu = readings.devices[1];
  EXPECT_EQ(gpu.pci, "0000:18:00.0");
  EXPECT_EQ(gpu.kind, PciKind::gpu);
  EXPECT_EQ(gpu.switches, std::vector<std::string>{"0000:16:00.0"});
  EXPECT_EQ(gpu.generation, 4) << "the slot is slower than the GPU";
  EXPECT_EQ(gpu.width, 8);
  const PciDevice& nic = readings.devices[2];
  EXPECT_EQ(nic.kind, PciKind::nic);
  EXPECT_EQ(nic.name, "mlx5_0");
  EXPECT_TRUE(nic.infiniband);
  EXPECT_DOUBLE_EQ(nic.port_gbps, 50);
}

TEST(ReadSysfs, BelievesTheLargerCountOfASingleNodesMemory) {
  Tree tree(scratch_folder());
  tree.node(0, "0-31", "4812272", 0, 0);
  tree.file("proc/meminfo", "MemTotal:       263998500 kB");
  EXPECT_EQ(read_sysfs(tree.root()).nodes.at(0).memory_bytes, 263998500ull * 1024);
}

TEST(ReadSysfs, MakesDoWithAFlatTree) {
  Tree tree(scratch_folder());
  tree.file("proc/meminfo", "MemTotal:        8192 kB");
  tree.file("proc/cpuinfo", "processor\t: 0\ncpu\t\t: POWER9, altivec supported");
  tree.pci("pci0000:00/0000:00:06.0", "0x030200", "0x10de", -1, "Unknown", "255");
  const SysfsReadings readings = read_sysfs(tree.root());
  EXPECT_EQ(readings.vendor, "IBM");
  ASSERT_EQ(readings.nodes.size(), 1u);
  EXPECT_EQ(readings.nodes[0].memory_bytes, 8192u * 1024);
  ASSERT_EQ(readings.devices.size(), 1u);
  EXPECT_TRUE(readings.devices[0].switches.empty());
  EXPECT_EQ(readings.devices[0].numa, -1);
  EXPECT_EQ(readings.devices[0].generation, 0);
  EXPECT_EQ(readings.devices[0].width, 0);
}

TEST(ReadSysfs, LeavesOutVirtualFunctions) {
  Tree tree(scratch_folder());
  tree.pci("pci0000:00/0000:00:06.0", "0x020000", "0x15b3", 0);
  tree.pci("pci0000:00/0000:00:06.1", "0x020000", "0x15b3", 0);
  fs::create_directory_symlink("../0000:00:06.0", tree.root() / "sys/devices/pci0000:00/0000:00:06.1/physfn");
  EXPECT_EQ(read_sysfs(tree.root()).devices.size(), 1u);
}

TEST(ReadSysfs, SurvivesAnEmptyRootAndNonsense) {
  const fs::path root = scratch_folder();
  EXPECT_EQ(read_sysfs(root).nodes.size(), 1u);
  write_text(root / "sys/devices/system/node/node0/cpulist", "0-999999999,zebra,-4,7-");
  write_text(root / "sys/devices/system/node/nodeX/cpulist", "0");
  write_text(root / "sys/bus/pci/devices/0000:00:06.0/class", "many");
  const SysfsReadings readings = read_sysfs(root);
  ASSERT_EQ(readings.nodes.size(), 1u);
  EXPECT_LE(readings.nodes[0].processors, 65536);
  EXPECT_TRUE(readings.devices.empty());
}

TEST(ReadSysfs, HasGapsWhereAProcessorOrItsMemoryIsUnknown) {
  SysfsReadings readings;
  readings.processor = "some processor";
  readings.nodes = {{0, 1 << 20, 4, 0}, {1, 0, 0, -1}};  // the other one is a device's memory
  EXPECT_FALSE(has_gaps(readings));
  readings.nodes[0].memory_bytes = 0;
  EXPECT_TRUE(has_gaps(readings));
  readings.nodes = {{0, 0, 0, -1}};
  EXPECT_TRUE(has_gaps(readings)) << "the only one is the processor's";
  readings.nodes[0].memory_bytes = 1 << 20;
  EXPECT_FALSE(has_gaps(readings));
  readings.processor.clear();
  EXPECT_TRUE(has_gaps(readings));
}

TEST(ReadSysfs, DescribesThisMachine) {
  const SysfsReadings readings = read_sysfs();
  EXPECT_GT(readings.processors, 0);
  EXPECT_GT(readings.nodes.front().memory_bytes, 0u);
}

}  // namespace
}  // namespace sennit::machine
