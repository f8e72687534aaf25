#include "machine/nccl_xml.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/units.h"
#include "machine/fields.h"
#include "machine/pci.h"
#include "machine/prior.h"
#include "machine/validate.h"

namespace sennit::machine {

namespace {

/// Deeper than any PCIe tree; bounds the recursion on hostile input.
constexpr int kDeepest = 32;

/// "pci 0000:1b:00.0", "cpu 1", "gpu 3": how errors name an element.
std::string title(const pugi::xml_node& node) {
  for (const char* key : {"busid", "numaid", "dev", "name", "target"})
    if (const pugi::xml_attribute attribute = node.attribute(key))
      return printable(fmt::format("{} {}", node.name(), std::string_view(attribute.value()).substr(0, 40)));
  return printable(node.name());
}

class Reader {
 public:
  Result<Machine> read(const pugi::xml_node& system, std::string_view origin) {
    machine_.name = std::filesystem::path(printable(origin)).stem().string();
    if (machine_.name.empty()) machine_.name = "nccl-topology";
    machine_.description = "Converted from an NCCL topology dump: figures are specifications, nothing was measured.";
    machine_.references = {fmt::format("NCCL topology XML version 1: {}", printable(origin))};
    std::set<std::string> hosts;
    for (const pugi::xml_node cpu : system.children("cpu")) hosts.insert(cpu.attribute("host_hash").value());
    if (hosts.size() > 1)
      return Status(Code::unsupported, fmt::format("describes {} hosts", hosts.size()), std::string(origin),
                    "Dump the topology of a job on one host");
    number_gpus(system);
    for (const pugi::xml_node cpu : system.children("cpu")) read_cpu(cpu);
    for (const Pending& pending : pending_) add_nvlink(pending);
    add_sockets();
    // Devices in the order people expect: GPUs by number, then the rest as found.
    std::ranges::stable_sort(machine_.devices, {}, [&](const Device& device) {
      return device.kind == DeviceKind::gpu ? std::stoi(device.id.substr(3)) : 1 << 20;
    });
    if (!verdict_.ok()) return Status(verdict_.status()).in(origin);
    if (Status status = validate(machine_); !status.ok()) return std::move(status).in(origin);
    return std::move(machine_);
  }

 private:
  /// An NVLink element, kept until every GPU is known.
  struct Pending {
    std::string gpu, host, target;
    int count = 0;
    int capability = 0;
    std::string target_class;
  };

  struct Cpu {
    std::string id, vendor;
    int family = 0, model = 0;
  };

  void refuse(const pugi::xml_node& node, std::string what) {
    verdict_.refuse(title(node), std::move(what), "Dump the topology again with NCCL_TOPO_DUMP_FILE");
  }

  int integer(const pugi::xml_node& node, const char* key, int fallback, int least, int most) {
    const pugi::xml_attribute attribute = node.attribute(key);
    if (!attribute) return fallback;
    const std::string_view text = attribute.value();
    int value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && rest == text.data() + text.size() && value >= least && value <= most) return value;
    refuse(node,
           fmt::format("{}='{}' is not a number from {} to {}", key, printable(text.substr(0, 40)), least, most));
    return fallback;
  }

  Device& add(std::string id, DeviceKind kind, std::string model, int numa) {
    Device device;
    device.id = std::move(id);
    device.kind = kind;
    device.model = std::move(model);
    device.numa = numa;
    machine_.devices.push_back(std::move(device));
    return machine_.devices.back();
  }

  void join(const std::string& from, const std::string& to, LinkKind kind, int count, const Figure& each_way) {
    Link link;
    link.from = from;
    link.to = to;
    link.kind = kind;
    link.count = count;
    link.forward_gbps = link.backward_gbps = each_way;
    machine_.links.push_back(std::move(link));
  }

  /// GPUs are called by their dev number where these differ. In a job of one process a GPU they may all be 0, as
  /// each process counts what it sees; then by their order in the dump.
  void number_gpus(const pugi::xml_node& system) {
    struct Walker : pugi::xml_tree_walker {
      std::vector<pugi::xml_node> gpus;
      bool for_each(pugi::xml_node& node) override {
        if (std::string_view(node.name()) == "gpu") gpus.push_back(node);
        return true;
      }
    } walker;
    pugi::xml_node top = system;
    top.traverse(walker);
    std::set<int> numbers;
    for (const pugi::xml_node& gpu : walker.gpus) numbers.insert(gpu.attribute("dev").as_int(-1));
    by_dev_ = numbers.size() == walker.gpus.size() && !numbers.contains(-1);
  }

  void read_cpu(const pugi::xml_node& node) {
    const int numa = integer(node, "numaid", -1, -1, 4096);
    Cpu cpu;
    cpu.id = fmt::format("host{}", numa >= 0 ? numa : int(cpus_.size()));
    cpu.vendor = printable(node.attribute("vendor").value());
    cpu.family = integer(node, "familyid", 0, -1, 1 << 20);
    cpu.model = integer(node, "modelid", 0, -1, 1 << 20);
    std::string model = printable(node.attribute("arch").value());
    if (!cpu.vendor.empty())
      model = fmt::format("{} family {} model {} ({})", cpu.vendor, cpu.family, cpu.model, model);
    add(cpu.id, DeviceKind::host, model, numa);
    // POWER is known by its architecture alone.
    if (cpu.vendor.empty() && model.starts_with("ppc64")) cpu.vendor = "IBM";
    cpus_.push_back(cpu);
    for (const pugi::xml_node child : node.children("pci")) read_pci(child, cpu.id, cpu.id, numa, 1);
    for (const pugi::xml_node child : node.children("nic")) read_virtual_nic(child, cpu.id, numa);
  }

  void read_pci(const pugi::xml_node& node, const std::string& above, const std::string& host, int numa, int depth) {
    if (depth > kDeepest) return refuse(node, fmt::format("is nested deeper than {} levels", kDeepest));
    const std::string pci = normal_pci(node.attribute("busid").value());
    if (pci.empty())
      return refuse(node, fmt::format("busid='{}' is not a PCI address", printable(node.attribute("busid").value())));
    std::string id;
    if (const pugi::xml_node gpu = node.child("gpu")) {
      if (gpu.next_sibling("gpu")) return refuse(node, "holds several GPUs (MIG or MPS partitions)");
      id = read_gpu(gpu, pci, host, numa);
    } else if (const pugi::xml_node nic = node.child("nic")) {
      id = read_nic(nic, pci, numa);
    } else if (node.child("pci")) {
      id = fmt::format("pcie_switch{}", switches_++);
      add(id, DeviceKind::pcie_switch, "PCIe switch", numa).pci = pci;
    } else {
      return;  // a device that NCCL lists and does not use
    }
    const int width = integer(node, "link_width", 0, 0, 255);
    const int generation = pcie_generation(node.attribute("link_speed").value());
    // Width 0 is a link that the kernel does not describe. Beside an NVLink to the processor it carries no data.
    bool beside_nvlink = false;
    for (const Pending& pending : pending_)
      beside_nvlink = beside_nvlink || (pending.gpu == id && pending.target_class == "0x068001");
    if (width > 0 || !beside_nvlink) {
      join(id, above, LinkKind::pcie, 1, pcie_figure(generation, width));
      machine_.links.back().both_gbps = pcie_both_figure(machine_.links.back().forward_gbps);
    }
    for (const pugi::xml_node child : node.children("pci")) read_pci(child, id, host, numa, depth + 1);
  }

  std::string read_gpu(const pugi::xml_node& node, const std::string& pci, const std::string& host, int numa) {
    const int dev = integer(node, "dev", -1, -1, 4096);
    const std::string id = fmt::format("gpu{}", by_dev_ ? dev : gpus_);
    ++gpus_;
    const int capability = integer(node, "sm", 0, 0, 10000);
    add(id, DeviceKind::gpu, capability > 0 ? fmt::format("GPU sm_{}", capability) : "GPU", numa).pci = pci;
    gpu_at_[pci] = id;
    for (const pugi::xml_node child : node.children("nvlink")) {
      Pending pending;
      pending.gpu = id;
      pending.host = host;
      pending.target = normal_pci(child.attribute("target").value());
      pending.count = integer(child, "count", 1, 1, 1024);
      pending.capability = capability;
      pending.target_class = printable(child.attribute("tclass").value());
      pending_.push_back(pending);
    }
    if (const pugi::xml_node child = node.child("c2c")) {
      const int count = integer(child, "count", 1, 1, 1024);
      const int megabytes = integer(child, "bw", 0, 1, 10'000'000);
      Figure figure{double(megabytes) * count / 1000, Source::specification, 0,
                    fmt::format("NVLink-C2C, {} × {} MB/s as the driver reports it", count, megabytes)};
      join(id, host, LinkKind::nvlink, count, figure);
    }
    return id;
  }

  /// Reads one device a card; its ports (net elements) are added up and their names joined by '+'.
  Device read_nets(const pugi::xml_node& nic) {
    Device device;
    double gbps = 0;
    for (const pugi::xml_node net : nic.children("net")) {
      const std::string name = printable(net.attribute("name").value());
      device.model += (device.model.empty() ? "" : "+") + name;
      // -1 and 0 stand for a port without a cable.
      gbps += std::max(0, integer(net, "speed", 0, -1, 100'000'000)) / 8000.0;
    }
    if (gbps > 0) {
      const Figure line{gbps, Source::specification, 0, "line rate of all ports, as NCCL saw it"};
      device.read_gbps = device.write_gbps = line;
    }
    return device;
  }

  std::string add_nic(Device device, int numa) {
    device.id = fmt::format("nic{}", nics_++);
    device.kind = DeviceKind::nic;
    device.numa = numa;
    machine_.devices.push_back(std::move(device));
    return machine_.devices.back().id;
  }

  std::string read_nic(const pugi::xml_node& node, const std::string& pci, int numa) {
    Device device = read_nets(node);
    device.pci = pci;
    return add_nic(std::move(device), numa);
  }

  /// A network without a PCI device (a bridge, a virtual machine's socket) hangs off every processor; the first
  /// counts.
  void read_virtual_nic(const pugi::xml_node& node, const std::string& host, int numa) {
    const Device device = read_nets(node);
    for (const Device& other : machine_.devices)
      if (other.kind == DeviceKind::nic && other.model == device.model) return;
    const double gbps = device.read_gbps ? device.read_gbps->value : 1.25;
    const std::string id = add_nic(device, numa);
    join(id, host, LinkKind::pcie, 1,
         {gbps, Source::assumed, 0, "a network without a PCI device; taken to be as fast as its line, or 10 Gb/s"});
  }

  void add_nvlink(const Pending& pending) {
    std::string to;
    const auto peer = gpu_at_.find(pending.target);
    if (peer != gpu_at_.end()) {
      to = peer->second;
    } else if (pending.target_class == "0x068001") {
      to = pending.host;
    } else if (pending.target_class.starts_with("0x03")) {
      return;  // a GPU that the job did not see
    } else {
      to = "nvswitch0";
      const auto exists = [](const Device& device) { return device.kind == DeviceKind::nvswitch; };
      if (std::ranges::none_of(machine_.devices, exists)) add(to, DeviceKind::nvswitch, "NVSwitch fabric", -1);
    }
    if (to == pending.gpu) return;
    const bool both_report = peer != gpu_at_.end();
    Link* known = nullptr;
    for (Link& link : machine_.links)
      if (link.kind == LinkKind::nvlink &&
          ((link.from == pending.gpu && link.to == to) || (link.from == to && link.to == pending.gpu)))
        known = &link;
    int count = pending.count;
    if (known != nullptr) {
      // The peer has reported the same links already; several switches of one fabric add up.
      if (both_report) return;
      count += known->count;
    }
    if (count > 1024) return refuse_count(pending, count);
    const Figure figure = nvlink_figure(nvlink_raw_gbps(pending.capability), count);
    if (known == nullptr) return join(pending.gpu, to, LinkKind::nvlink, count, figure);
    known->count = count;
    known->forward_gbps = known->backward_gbps = figure;
  }

  void refuse_count(const Pending& pending, int count) {
    verdict_.refuse(pending.gpu, fmt::format("has {} NVLinks", count),
                    "Dump the topology again with NCCL_TOPO_DUMP_FILE");
  }

  void add_sockets() {
    // The mesh grows with the square of the processors; no machine has this many.
    if (cpus_.size() > 256)
      return verdict_.refuse("system", fmt::format("has {} processors", cpus_.size()), "Dump the topology again");
    for (std::size_t i = 0; i < cpus_.size(); ++i)
      for (std::size_t j = i + 1; j < cpus_.size(); ++j)
        join(cpus_[i].id, cpus_[j].id, LinkKind::socket, 1,
             socket_figure({cpus_[i].vendor, cpus_[i].family, cpus_[i].model}, false));
  }

  Machine machine_;
  Verdict verdict_;
  std::vector<Cpu> cpus_;
  std::vector<Pending> pending_;
  std::map<std::string, std::string> gpu_at_;
  bool by_dev_ = false;
  int gpus_ = 0, switches_ = 0, nics_ = 0;
};

}  // namespace

Result<Machine> from_nccl_xml(std::string_view xml, std::string_view origin) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  if (!parsed)
    return Status(Code::corrupt, fmt::format("not valid XML at byte {}: {}", parsed.offset, parsed.description()),
                  std::string(origin), "The file may be cut off; dump the topology again with NCCL_TOPO_DUMP_FILE");
  const pugi::xml_node system = document.child("system");
  if (!system)
    return Status(Code::corrupt, "has no <system> element", std::string(origin),
                  "Give the file that NCCL_TOPO_DUMP_FILE wrote");
  if (const std::string_view version = system.attribute("version").value(); version != "1")
    return Status(Code::unsupported,
                  fmt::format("is version '{}' of the topology; version 1 (NCCL's) can be read",
                              printable(version.substr(0, 40))),
                  std::string(origin), "Dump it with NCCL; RCCL writes a format of its own");
  return Reader().read(system, origin);
}

Result<Machine> load_nccl_xml(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error)
    return Status(Code::not_found, fmt::format("cannot read '{}': {}", file.string(), error.message()), {},
                  "Check the path and its permissions");
  if (size > 16 * MiB)
    return Status(Code::invalid_argument, fmt::format("'{}' has {}", file.string(), format_bytes(size)), {},
                  "Topologies stay far below 16 MiB; check the path");
  std::ifstream in(file, std::ios::binary);
  std::string text(size, '\0');
  if (!in.read(text.data(), std::streamsize(size)))
    return Status(Code::system_error, fmt::format("cannot read '{}'", file.string()), {}, "Check its permissions");
  return from_nccl_xml(text, file.filename().string());
}

}  // namespace sennit::machine
