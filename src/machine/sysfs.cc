#include "machine/sysfs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <system_error>

#include "base/processors.h"
#include "machine/pci.h"
#include "machine/validate.h"

namespace sennit::machine {

namespace fs = std::filesystem;

namespace {

/// Returns the first line of a small kernel file; empty when it cannot be read.
std::string line_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  return line;
}

long number_of(const fs::path& file, long fallback, int base = 10) {
  const std::string text = line_of(file);
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, base);
  return end == text.c_str() ? fallback : value;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

/// Returns the number that ends `name` after `prefix`; -1 when it is not of that form ("node12" → 12).
int suffix(const std::string& name, std::string_view prefix) {
  int value = -1;
  if (!name.starts_with(prefix)) return -1;
  const char* first = name.data() + prefix.size();
  const char* last = name.data() + name.size();
  const auto [rest, error] = std::from_chars(first, last, value);
  return error == std::errc{} && rest == last && first != last ? value : -1;
}

/// Returns the "MemTotal:  12345 kB" of a meminfo file, in bytes.
std::uint64_t memory_total(const fs::path& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find("MemTotal:");
    if (at != std::string::npos) return std::strtoull(line.c_str() + at + 9, nullptr, 10) * 1024;
  }
  return 0;
}

std::vector<NumaNode> read_nodes(const fs::path& root) {
  std::vector<NumaNode> nodes;
  const fs::path system = root / "sys/devices/system";
  for (const fs::path& folder : entries(system / "node")) {
    const int number = suffix(folder.filename().string(), "node");
    if (number < 0) continue;
    const std::vector<int> processors = parse_processors(line_of(folder / "cpulist"));
    NumaNode node{number, memory_total(folder / "meminfo"), int(processors.size()), -1};
    if (!processors.empty())
      node.package = int(number_of(
          system / "cpu" / ("cpu" + std::to_string(processors.front())) / "topology/physical_package_id", -1));
    nodes.push_back(node);
  }
  std::ranges::sort(nodes, {}, &NumaNode::number);
  return nodes;
}

void read_processor(const fs::path& root, SysfsReadings& readings) {
  std::ifstream in(root / "proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string key = line.substr(0, colon);
    while (!key.empty() && (key.back() == ' ' || key.back() == '\t')) key.pop_back();
    if (key == "processor") ++readings.processors;
    // x86 says "model name", POWER says "cpu"; Arm says neither.
    const std::string value = line.substr(std::min(line.size(), colon + 2));
    if (readings.processor.empty() && (key == "model name" || key == "cpu")) readings.processor = printable(value);
    if (key == "vendor_id") readings.vendor = printable(value);
    if (key == "cpu" && value.starts_with("POWER")) readings.vendor = "IBM";
    if (key == "cpu family") readings.family = std::atoi(value.c_str());
    if (key == "model") readings.model = std::atoi(value.c_str());
  }
}

/// Reads the link speed that a device and its slot can both do; the current one where the kernel gives no maximum. A
/// sleeping GPU trains down, so the current speed alone would mislead.
void read_link(const fs::path& folder, PciDevice& device) {
  device.generation = pcie_generation(line_of(folder / "max_link_speed"));
  device.width = int(number_of(folder / "max_link_width", 0));
  if (device.generation == 0) device.generation = pcie_generation(line_of(folder / "current_link_speed"));
  const int slot_generation = pcie_generation(line_of(folder.parent_path() / "max_link_speed"));
  const int slot_width = int(number_of(folder.parent_path() / "max_link_width", 0));
  if (slot_generation > 0 && device.generation > 0) device.generation = std::min(device.generation, slot_generation);
  // A narrow current width is wiring, not sleep: links do not retrain their width when idle.
  const int current_width = int(number_of(folder / "current_link_width", 0));
  for (const int width : {slot_width, current_width})
    if (width > 0 && width <= 32) device.width = device.width > 0 ? std::min(device.width, width) : width;
  if (device.width < 0 || device.width > 32) device.width = 0;  // 63 and 255 stand for "unknown"
}

void read_identity(const fs::path& folder, PciDevice& device) {
  device.vendor = unsigned(number_of(folder / "vendor", 0, 16));
  device.device = unsigned(number_of(folder / "device", 0, 16));
  device.numa = int(number_of(folder / "numa_node", -1));
  read_link(folder, device);
}

/// Returns the folders of the bridges above a device, the root port first: the kernel nests them as in
/// /sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/….
std::vector<fs::path> bridges(const fs::path& folder) {
  std::vector<fs::path> above;
  for (fs::path at = folder.parent_path(); !normal_pci(at.filename().string()).empty(); at = at.parent_path())
    above.insert(above.begin(), at);
  return above;
}

/// Reads names and rates of network devices by PCI address, RDMA names first: NCCL and UCX use those.
void name_nics(const fs::path& root, std::map<std::string, PciDevice*>& nics) {
  std::error_code error;
  const auto device_of = [&](const fs::path& folder) -> PciDevice* {
    const fs::path real = fs::canonical(folder / "device", error);
    const auto found = error ? nics.end() : nics.find(real.filename().string());
    return found == nics.end() ? nullptr : found->second;
  };
  for (const fs::path& folder : entries(root / "sys/class/infiniband")) {
    PciDevice* nic = device_of(folder);
    if (nic == nullptr || nic->infiniband) continue;
    nic->infiniband = true;
    nic->name = printable(folder.filename().string());
    nic->port_gbps = double(number_of(folder / "ports/1/rate", 0)) / 8;  // "100 Gb/sec (4X EDR)"
  }
  for (const fs::path& folder : entries(root / "sys/class/net")) {
    PciDevice* nic = device_of(folder);
    if (nic == nullptr) continue;
    if (nic->name.empty()) nic->name = printable(folder.filename().string());
    const long megabits = number_of(folder / "speed", 0);
    if (nic->port_gbps <= 0 && megabits > 0) nic->port_gbps = double(megabits) / 8000;
  }
}

std::vector<PciDevice> read_pci(const fs::path& root) {
  std::map<std::string, PciDevice> devices;
  std::error_code error;
  for (const fs::path& link : entries(root / "sys/bus/pci/devices")) {
    const fs::path folder = fs::canonical(link, error);
    const std::string pci = error ? std::string() : normal_pci(folder.filename().string());
    if (pci.empty()) continue;
    const unsigned kind = unsigned(number_of(folder / "class", 0, 16)) >> 16;
    PciDevice device;
    device.pci = pci;
    read_identity(folder, device);
    constexpr unsigned kNetwork = 0x02, kDisplay = 0x03, kNvidia = 0x10de;
    if (kind == kNetwork)
      device.kind = PciKind::nic;
    else if (kind != kDisplay || device.vendor != kNvidia)
      continue;
    // Virtual functions share the link of the card they belong to; listing hundreds of them would say nothing.
    if (fs::exists(folder / "physfn", error)) continue;
    // Above a device: the root port, then pairs of one switch's upstream and downstream port.
    const std::vector<fs::path> above = bridges(folder);
    for (std::size_t i = 1; i < above.size(); i += 2) {
      PciDevice bridge;
      bridge.pci = normal_pci(above[i].filename().string());
      bridge.kind = PciKind::bridge;
      read_identity(above[i], bridge);
      bridge.switches = device.switches;
      if (bridge.numa < 0) bridge.numa = device.numa;
      device.switches.push_back(bridge.pci);
      devices.emplace(bridge.pci, bridge);
    }
    devices.emplace(pci, device);
  }
  std::map<std::string, PciDevice*> nics;
  for (auto& [pci, device] : devices)
    if (device.kind == PciKind::nic) nics[pci] = &device;
  name_nics(root, nics);
  std::vector<PciDevice> list;
  for (auto& [pci, device] : devices) list.push_back(device);
  return list;
}

}  // namespace

SysfsReadings read_sysfs(const fs::path& root) {
  SysfsReadings readings;
  readings.host = printable(line_of(root / "proc/sys/kernel/hostname"));
  read_processor(root, readings);
  readings.nodes = read_nodes(root);
  const std::uint64_t memory = memory_total(root / "proc/meminfo");
  if (readings.nodes.empty()) readings.nodes.push_back({0, memory, readings.processors, 0});
  // A node's own count leaves out what a virtual machine was given after it had started.
  if (readings.nodes.size() == 1) readings.nodes[0].memory_bytes = std::max(readings.nodes[0].memory_bytes, memory);
  readings.devices = read_pci(root);
  return readings;
}

bool has_gaps(const SysfsReadings& readings) {
  return readings.processor.empty() || std::ranges::any_of(readings.nodes, [&](const NumaNode& node) {
           return node.memory_bytes == 0 && (node.processors > 0 || readings.nodes.size() == 1);
         });
}

}  // namespace sennit::machine
