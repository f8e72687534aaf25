// Reads what the Linux kernel says of this machine: processors, NUMA nodes, GPUs and network cards in the PCI tree.
// Everything is read below a root folder, so that tests read made-up trees.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sennit::machine {

struct NumaNode {
  int number = 0;
  std::uint64_t memory_bytes = 0;
  int processors = 0;  ///< 0: memory of a device (Grace Hopper's GPU, CXL), not a host of ours
  int package = 0;     ///< socket that holds its first processor; -1 where the kernel does not say
};

enum class PciKind { gpu, nic, bridge };

struct PciDevice {
  std::string pci;  ///< "0000:1b:00.0", lower case
  PciKind kind = PciKind::gpu;
  unsigned vendor = 0, device = 0;
  int numa = -1;
  int generation = 0, width = 0;  ///< PCIe link towards the processor, as it can be; 0 where hidden (VMs)
  /// Upstream ports of the PCIe switches above it, nearest the processor first. Root ports and downstream ports
  /// are left out: they are parts of the processor and of the switches.
  std::vector<std::string> switches;
  std::string name;         ///< nic: "mlx5_0" or "eth0"
  double port_gbps = 0;     ///< nic: line rate in GB/s; 0 where no cable or no permission
  bool infiniband = false;  ///< nic: has an RDMA device
};

struct SysfsReadings {
  std::string host;           ///< the machine's own name
  std::string processor;      ///< model, as /proc/cpuinfo gives it
  std::string vendor;         ///< "GenuineIntel", "AuthenticAMD", "IBM"; empty where unknown
  int family = 0, model = 0;  ///< x86 numbers that tell processor generations apart; 0 elsewhere
  int processors = 0;
  std::vector<NumaNode> nodes;     ///< ascending; never empty: without NUMA, one node with all memory
  std::vector<PciDevice> devices;  ///< NVIDIA GPUs, NICs, and the switches above them, by address
};

/// Returns whether the kernel does not say something of processors and their memory that hwloc (hwloc.h) may know.
bool has_gaps(const SysfsReadings& readings);

/// Reads ROOT/sys and ROOT/proc; never fails: what cannot be read keeps its default.
SysfsReadings read_sysfs(const std::filesystem::path& root = "/");

}  // namespace sennit::machine
