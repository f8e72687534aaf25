#include "machine/assemble.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "machine/fingerprint.h"
#include "machine/pci.h"
#include "machine/prior.h"

namespace sennit::machine {

namespace {

/// One GPU as far as any source knows it.
struct Gpu {
  std::string id;
  const NvmlGpu* nvml = nullptr;
  const PciDevice* pci = nullptr;
};

class Assembly {
 public:
  explicit Assembly(const Readings& readings) : readings_(readings) {
    for (const PciDevice& device : readings.sysfs.devices) by_pci_[device.pci] = &device;
  }

  Machine run() {
    machine_.name = readings_.sysfs.host.empty() ? "this-machine" : readings_.sysfs.host;
    machine_.driver = readings_.nvml.driver;
    machine_.cuda = readings_.nvml.cuda;
    machine_.date = readings_.date;
    collect_gpus();
    collect_hosts();
    gpus();
    hosts();
    pci_tree();
    nvlinks();
    sockets();
    describe();
    machine_.fingerprint = fingerprint(machine_);
    return std::move(machine_);
  }

 private:
  const PciDevice* in_tree(const std::string& pci) const {
    const auto found = by_pci_.find(pci);
    return found == by_pci_.end() ? nullptr : found->second;
  }

  void collect_gpus() {
    // NVML lists what this process may use; a GPU that only the kernel shows is hidden from it (a cgroup) or has no
    // driver, and counts only where NVML itself is missing.
    std::set<std::string> seen;
    for (const NvmlGpu& gpu : readings_.nvml.gpus)
      if (gpu.pci.empty() || seen.insert(gpu.pci).second) gpus_.push_back({{}, &gpu, in_tree(gpu.pci)});
    if (!readings_.nvml.present)
      for (const PciDevice& device : readings_.sysfs.devices)
        if (device.kind == PciKind::gpu) gpus_.push_back({{}, nullptr, &device});
    std::ranges::stable_sort(gpus_, {}, [](const Gpu& gpu) { return gpu.nvml ? gpu.nvml->pci : gpu.pci->pci; });
    for (std::size_t i = 0; i < gpus_.size(); ++i) gpus_[i].id = fmt::format("gpu{}", i);
  }

  void collect_hosts() {
    for (const NumaNode& node : readings_.sysfs.nodes)
      if (node.processors > 0 || readings_.sysfs.nodes.size() == 1) hosts_.push_back(node);
    if (hosts_.empty()) hosts_.push_back({0, 0, 0, 0});
  }

  std::string host_of(int numa) const {
    const bool there = std::ranges::any_of(hosts_, [&](const NumaNode& node) { return node.number == numa; });
    return fmt::format("host{}", there ? numa : hosts_.front().number);
  }

  int numa_of(const PciDevice* device) const {
    if (device != nullptr && device->numa >= 0) return device->numa;
    return hosts_.size() == 1 ? hosts_.front().number : -1;
  }

  void gpus() {
    for (const Gpu& gpu : gpus_) {
      Device device;
      device.id = gpu.id;
      device.kind = DeviceKind::gpu;
      if (gpu.nvml != nullptr) {
        device.uuid = gpu.nvml->uuid;
        device.pci = gpu.nvml->pci;
        device.model = gpu.nvml->name;
        device.memory_bytes = gpu.nvml->memory_bytes;
      } else {
        device.pci = gpu.pci->pci;
        device.model = fmt::format("NVIDIA GPU, PCI device {:04x}:{:04x}", gpu.pci->vendor, gpu.pci->device);
      }
      device.numa = numa_of(gpu.pci);
      for (const GpuExtra& extra : readings_.extras)
        if (!device.pci.empty() && normal_pci(extra.pci) == device.pci) {
          device.sm_count = std::max(0, extra.sm_count);
          device.copy_engines = std::max(0, extra.copy_engines);
        }
      machine_.devices.push_back(std::move(device));
    }
  }

  void hosts() {
    for (const NumaNode& node : hosts_) {
      Device device;
      device.id = fmt::format("host{}", node.number);
      device.kind = DeviceKind::host;
      device.model = readings_.sysfs.processor.empty() ? readings_.hwloc.processor : readings_.sysfs.processor;
      const auto found = readings_.hwloc.memory_bytes.find(node.number);
      device.memory_bytes = node.memory_bytes;
      if (device.memory_bytes == 0 && found != readings_.hwloc.memory_bytes.end())
        device.memory_bytes = found->second;
      device.numa = node.number;
      machine_.devices.push_back(std::move(device));
    }
  }

  Link& join(const std::string& from, const std::string& to, LinkKind kind, int count, const Figure& each_way) {
    Link link;
    link.from = from;
    link.to = to;
    link.kind = kind;
    link.count = count;
    link.forward_gbps = link.backward_gbps = each_way;
    machine_.links.push_back(std::move(link));
    return machine_.links.back();
  }

  Link& join_pcie(const std::string& from, const std::string& to, int generation, int width) {
    Link& link = join(from, to, LinkKind::pcie, 1, pcie_figure(generation, width));
    link.both_gbps = pcie_both_figure(link.forward_gbps);
    return link;
  }

  /// Returns the device above `device` in the PCIe tree: its nearest switch, else the host of its NUMA node.
  std::string above(const PciDevice* device) const {
    if (device == nullptr) return host_of(-1);
    if (!device->switches.empty()) {
      const auto found = switches_.find(device->switches.back());
      if (found != switches_.end()) return found->second;
    }
    return host_of(device->numa);
  }

  void pci_tree() {
    std::vector<const PciDevice*> nics;
    std::vector<const PciDevice*> ends;
    for (const PciDevice& device : readings_.sysfs.devices)
      if (device.kind == PciKind::nic) nics.push_back(&device);
    for (const Gpu& gpu : gpus_)
      if (gpu.pci != nullptr) ends.push_back(gpu.pci);
    ends.insert(ends.end(), nics.begin(), nics.end());

    std::set<std::string> used;
    for (const PciDevice* end : ends) used.insert(end->switches.begin(), end->switches.end());
    for (const std::string& pci : used) {
      switches_[pci] = fmt::format("pcie_switch{}", switches_.size());
      Device device;
      device.id = switches_[pci];
      device.kind = DeviceKind::pcie_switch;
      device.pci = pci;
      device.model = "PCIe switch";
      if (const PciDevice* found = in_tree(pci); found != nullptr) {
        device.model = fmt::format("PCIe switch {:04x}:{:04x}", found->vendor, found->device);
        device.numa = numa_of(found);
      }
      machine_.devices.push_back(std::move(device));
    }
    for (std::size_t i = 0; i < nics.size(); ++i) nic(*nics[i], fmt::format("nic{}", i));

    for (const Gpu& gpu : gpus_) {
      const int told_generation = gpu.nvml != nullptr ? gpu.nvml->pcie_max_generation : 0;
      const int told_width = gpu.nvml == nullptr        ? 0
                             : gpu.nvml->pcie_width > 0 ? gpu.nvml->pcie_width
                                                        : gpu.nvml->pcie_max_width;
      const int generation = told_generation > 0 ? told_generation : gpu.pci != nullptr ? gpu.pci->generation : 0;
      const int width = told_width > 0 ? told_width : gpu.pci != nullptr ? gpu.pci->width : 0;
      join_pcie(gpu.id, above(gpu.pci), generation, width).peer_access = peer_over_pcie(gpu);
    }
    for (const std::string& pci : used) {
      const PciDevice* found = in_tree(pci);
      join_pcie(switches_[pci], above(found), found != nullptr ? found->generation : 0,
                found != nullptr ? found->width : 0);
    }
    for (std::size_t i = 0; i < nics.size(); ++i)
      join_pcie(fmt::format("nic{}", i), above(nics[i]), nics[i]->generation, nics[i]->width);
  }

  void nic(const PciDevice& found, const std::string& id) {
    Device device;
    device.id = id;
    device.kind = DeviceKind::nic;
    device.pci = found.pci;
    device.model = found.name;
    device.numa = numa_of(&found);
    if (found.port_gbps > 0) {
      Figure line{found.port_gbps, Source::specification, 0, "line rate of the port, as the kernel reports it"};
      device.read_gbps = device.write_gbps = line;
    }
    machine_.devices.push_back(std::move(device));
  }

  /// Returns whether traffic to other GPUs may pass this GPU's PCIe link. With NVLink to every other GPU the driver
  /// never sends it there, whatever PCIe could do; where nothing is known, the PCIe path is assumed to work until a
  /// probe says otherwise.
  bool peer_over_pcie(const Gpu& gpu) const {
    bool asked = false;
    for (const NvmlPair& pair : readings_.nvml.pairs) {
      const auto& all = readings_.nvml.gpus;
      if (std::max(pair.one, pair.other) >= int(all.size()) || std::min(pair.one, pair.other) < 0) continue;
      if (&all[std::size_t(pair.one)] != gpu.nvml && &all[std::size_t(pair.other)] != gpu.nvml) continue;
      if (!pair.peer_read && !pair.peer_nvlink) continue;
      asked = true;
      if (pair.peer_read.value_or(true) && !pair.peer_nvlink.value_or(false)) return true;
    }
    return !asked;
  }

  void nvlinks() {
    std::map<std::pair<std::string, std::string>, std::vector<double>> bundles;
    for (const Gpu& gpu : gpus_) {
      if (gpu.nvml == nullptr) continue;
      for (const NvmlNvlink& link : gpu.nvml->nvlinks) {
        if (!link.active) continue;
        const Gpu* peer = nullptr;
        for (const Gpu& other : gpus_)
          if (!link.remote_pci.empty() && other.nvml != nullptr && other.nvml->pci == link.remote_pci) peer = &other;
        if (peer == &gpu) continue;
        if (peer != nullptr) {
          // Each end reports the link; it is counted at the lower-numbered one.
          if (gpu.nvml->pci < peer->nvml->pci) bundles[{gpu.id, peer->id}].push_back(link.raw_gbps);
        } else if (link.remote == NvlinkRemote::host) {
          bundles[{gpu.id, host_of(numa_of(gpu.pci))}].push_back(link.raw_gbps);
        } else if (link.remote != NvlinkRemote::gpu) {
          // Virtual machines hide what is at the other end; only a switch stays hidden when all GPUs are shown.
          bundles[{gpu.id, "nvswitch0"}].push_back(link.raw_gbps);
        }
      }
    }
    const auto to_switch = [](const auto& bundle) { return bundle.first.second == "nvswitch0"; };
    if (std::ranges::any_of(bundles, to_switch)) {
      Device device;
      device.id = "nvswitch0";
      device.kind = DeviceKind::nvswitch;
      device.model = "NVSwitch fabric";
      machine_.devices.push_back(std::move(device));
    }
    for (const auto& [ends, speeds] : bundles) {
      const double raw = *std::ranges::min_element(speeds);
      join(ends.first, ends.second, LinkKind::nvlink, int(speeds.size()), nvlink_figure(raw, int(speeds.size())));
    }
  }

  void sockets() {
    const SysfsReadings& sysfs = readings_.sysfs;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      for (std::size_t j = i + 1; j < hosts_.size(); ++j) {
        const bool same = hosts_[i].package >= 0 && hosts_[i].package == hosts_[j].package;
        const Figure figure = socket_figure({sysfs.vendor, sysfs.family, sysfs.model}, same);
        Link& link = join(host_of(hosts_[i].number), host_of(hosts_[j].number), LinkKind::socket, 1, figure);
        link.peer_access = peer_across(hosts_[i].number, hosts_[j].number);
      }
  }

  /// Returns whether GPUs of two NUMA nodes reach each other's memory other than by NVLink; such a path is assumed to
  /// work where NVML says nothing.
  bool peer_across(int one, int other) const {
    const auto node_of = [&](int index) {
      const auto& all = readings_.nvml.gpus;
      return index >= 0 && index < int(all.size()) ? numa_of(in_tree(all[std::size_t(index)].pci)) : -1;
    };
    bool asked = false;
    for (const NvmlPair& pair : readings_.nvml.pairs) {
      const int a = node_of(pair.one), b = node_of(pair.other);
      if (!((a == one && b == other) || (a == other && b == one)) || pair.peer_nvlink.value_or(false)) continue;
      if (!pair.peer_read) continue;
      asked = true;
      if (*pair.peer_read) return true;
    }
    return !asked;
  }

  void describe() {
    std::string& text = machine_.description;
    text = fmt::format("Discovered, not measured: {} GPU{} and {} NUMA node{}.", gpus_.size(),
                       gpus_.size() == 1 ? "" : "s", hosts_.size(), hosts_.size() == 1 ? "" : "s");
    if (!readings_.nvml.present && !gpus_.empty())
      text += fmt::format(" GPUs are known from the PCI tree alone, without NVLinks, memory and UUIDs, because {}.",
                          readings_.nvml.problem.empty() ? "NVML was not read" : readings_.nvml.problem);
    const bool flat = !gpus_.empty() && switches_.empty() && hosts_.size() == 1;
    if (flat && gpus_.size() > 1)
      text += " The PCI tree is flat, as virtual machines show it: switches and sockets may be hidden.";
  }

  const Readings& readings_;
  Machine machine_;
  std::map<std::string, const PciDevice*> by_pci_;
  std::vector<Gpu> gpus_;
  std::vector<NumaNode> hosts_;
  std::map<std::string, std::string> switches_;  ///< PCI address → id
};

}  // namespace

Machine assemble(const Readings& readings) {
  return Assembly(readings).run();
}

Machine host_machine(int devices, const SysfsReadings& sysfs, const std::string& date) {
  Machine machine;
  machine.name = (sysfs.host.empty() ? "this-machine" : sysfs.host) + "-host-executor";
  machine.description = fmt::format(
      "The host executor of this machine: {} pretended GPUs whose memory is host memory and whose links are memory "
      "copies. Shows how sennit behaves, not how fast GPUs are.",
      devices);
  machine.date = date;
  const Figure copy{8, Source::assumed, 0, "one thread copying memory; measure it to know"};
  const auto join = [&](const std::string& from, const std::string& to) {
    Link link;
    link.from = from;
    link.to = to;
    link.kind = LinkKind::pcie;
    link.forward_gbps = link.backward_gbps = copy;
    machine.links.push_back(std::move(link));
  };
  const int number = sysfs.nodes.empty() ? 0 : sysfs.nodes.front().number;
  std::uint64_t memory = 0;
  for (const NumaNode& node : sysfs.nodes) memory += node.memory_bytes;
  for (int i = 0; i < devices; ++i) {
    Device device;
    device.id = fmt::format("gpu{}", i);
    device.uuid = fmt::format("HOST-{}", i);
    device.model = "host executor device";
    device.memory_bytes = memory / std::uint64_t(devices);
    device.numa = number;
    machine.devices.push_back(std::move(device));
    join(fmt::format("gpu{}", i), "host0");
    for (int j = 0; j < i; ++j) join(fmt::format("gpu{}", j), fmt::format("gpu{}", i));
  }
  Device host;
  host.id = "host0";
  host.kind = DeviceKind::host;
  host.model = sysfs.processor;
  host.memory_bytes = memory;
  host.numa = number;
  machine.devices.push_back(std::move(host));
  machine.fingerprint = fingerprint(machine);
  return machine;
}

}  // namespace sennit::machine
