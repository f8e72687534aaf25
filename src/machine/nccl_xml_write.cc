#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "machine/nccl_xml.h"
#include "machine/pci.h"
#include "machine/prior.h"

namespace sennit::machine {

namespace {

/// The target that drivers give for an NVSwitch they hide.
constexpr const char* kHiddenTarget = "fffffff:ff:ff.0";

class Writer {
 public:
  explicit Writer(const Machine& machine) : machine_(machine) {
    for (const Device& device : machine.devices)
      if (!device.pci.empty()) taken_.insert(device.pci);
    for (const Device& device : machine.devices) address_[device.id] = device.pci.empty() ? made_up() : device.pci;
  }

  Result<std::string> write() {
    pugi::xml_document document;
    pugi::xml_node system = document.append_child("system");
    system.append_attribute("version") = "1";
    int index = 0;
    for (const Device& device : machine_.devices) {
      if (device.kind != DeviceKind::host) continue;
      cpus_[device.id] = cpu(system, device, index++);
    }
    if (cpus_.empty()) {
      Device host;  // NCCL hangs everything off a processor
      host.numa = 0;
      cpus_[""] = cpu(system, host, 0);
    }
    for (const Device& device : machine_.devices)
      if (device.kind == DeviceKind::host && !descend(cpus_[device.id], device.id, {}))
        return Status(Code::invalid_argument, fmt::format("the PCIe links below '{}' form a ring", device.id),
                      machine_.name, "NCCL's topology can only hold a tree; remove the link that closes it");
    // A device that no PCIe link reaches (a GPU that only NVLink joins to the processor) still needs a place in the
    // tree.
    for (const Device& device : machine_.devices) {
      const bool end = device.kind == DeviceKind::gpu || device.kind == DeviceKind::nic;
      if (end && placed_.insert(device.id).second) fill(element(home(device), device, nullptr), device);
    }
    std::ostringstream text;
    document.save(text, "  ", pugi::format_indent | pugi::format_no_declaration);
    return text.str();
  }

 private:
  std::string made_up() {
    std::string address;
    do {
      address = fmt::format("ffff:{:02x}:{:02x}.0", next_ / 32 % 256, next_ % 32);
      ++next_;
    } while (!taken_.insert(address).second);
    return address;
  }

  static pugi::xml_node cpu(pugi::xml_node& system, const Device& host, int index) {
    pugi::xml_node node = system.append_child("cpu");
    node.append_attribute("numaid") = host.numa >= 0 ? host.numa : index;
    // The form that from_nccl_xml gives a processor it knows by numbers alone.
    char vendor[33] = {}, arch[33] = {};
    int family = 0, model = 0;
    if (std::sscanf(host.model.c_str(), "%32s family %d model %d (%32[^)])", vendor, &family, &model, arch) >= 3) {
      if (arch[0] != '\0') node.append_attribute("arch") = arch;
      node.append_attribute("vendor") = vendor;
      node.append_attribute("familyid") = family;
      node.append_attribute("modelid") = model;
      return node;
    }
    const auto named = [&](const char* part) { return host.model.find(part) != std::string::npos; };
    if (named("POWER")) {
      node.append_attribute("arch") = "ppc64";
    } else if (named("AMD") || named("EPYC")) {
      node.append_attribute("arch") = "x86_64";
      node.append_attribute("vendor") = "AuthenticAMD";
      node.append_attribute("familyid") = 175;
      node.append_attribute("modelid") = 1;
    } else if (named("Intel") || named("Xeon")) {
      // A name does not tell the model number. NCCL takes its rate between sockets from it: 79 (Broadwell) stands for
      // the E5 family, 85 (Skylake, Cascade Lake) for everything newer.
      node.append_attribute("arch") = "x86_64";
      node.append_attribute("vendor") = "GenuineIntel";
      node.append_attribute("familyid") = 6;
      node.append_attribute("modelid") = named("E5-") ? 79 : 85;
    } else if (!host.model.empty() && host.model.find(' ') == std::string::npos) {
      node.append_attribute("arch") = host.model.c_str();
    }
    return node;
  }

  /// Writes everything below `id`; false when the links form a ring.
  bool descend(pugi::xml_node node, const std::string& id, const std::string& parent) {
    for (const Link& link : machine_.links) {
      if (link.kind != LinkKind::pcie || (link.from != id && link.to != id)) continue;
      const std::string& other = link.from == id ? link.to : link.from;
      const Device* device = machine_.find(other);
      if (other == parent || device == nullptr || device->kind == DeviceKind::host) continue;
      // Links between GPUs (the host executor's) have no place in the format.
      if (const Device* self = machine_.find(id); self != nullptr && self->kind == DeviceKind::gpu) continue;
      if (!placed_.insert(other).second) {
        if (device->kind == DeviceKind::pcie_switch) return false;
        continue;  // a card with a second link to another socket keeps its first
      }
      // A network without a PCI device hangs off the processor itself. Readers tell such networks apart by name
      // alone.
      if (device->kind == DeviceKind::nic && device->pci.empty() && cpus_.contains(id) && is_only(*device)) {
        nic(node, *device);
        continue;
      }
      pugi::xml_node child = element(node, *device, &link);
      fill(child, *device);
      if (device->kind == DeviceKind::pcie_switch && !descend(child, other, id)) return false;
    }
    return true;
  }

  /// Returns the processor that a device without PCIe link belongs to: by NVLink, else by NUMA node, else the first.
  pugi::xml_node home(const Device& device) {
    for (const Link& link : machine_.links) {
      const std::string& other = link.from == device.id ? link.to : link.from;
      if ((link.from == device.id || link.to == device.id) && cpus_.contains(other)) return cpus_[other];
    }
    for (const Device& host : machine_.devices)
      if (host.kind == DeviceKind::host && host.numa == device.numa) return cpus_[host.id];
    return cpus_.begin()->second;
  }

  bool is_only(const Device& nic) const {
    return std::ranges::count_if(machine_.devices, [&](const Device& other) {
             return other.kind == DeviceKind::nic && other.model == nic.model;
           }) == 1;
  }

  pugi::xml_node element(pugi::xml_node parent, const Device& device, const Link* link) {
    pugi::xml_node node = parent.append_child("pci");
    node.append_attribute("busid") = address_[device.id].c_str();
    const char* type = device.kind == DeviceKind::gpu   ? "0x030200"
                       : device.kind == DeviceKind::nic ? "0x020000"
                                                        : "0x060400";
    node.append_attribute("class") = type;
    // A link whose figure is what a reader assumes of undescribed links is written as an undescribed link.
    const Figure unknown = pcie_figure(0, 0);
    const bool described =
        link != nullptr && (link->forward_gbps.source != unknown.source || link->forward_gbps.value != unknown.value);
    const PcieShape shape = described ? pcie_shape(link->forward_gbps.value) : PcieShape{0, 0};
    node.append_attribute("link_speed") = shape.generation > 0 ? pcie_speed(shape.generation).c_str() : "";
    node.append_attribute("link_width") = shape.width;
    return node;
  }

  void fill(pugi::xml_node node, const Device& device) {
    if (device.kind == DeviceKind::gpu) gpu(node, device);
    if (device.kind == DeviceKind::nic) nic(node, device);
  }

  void gpu(pugi::xml_node& node, const Device& device) {
    pugi::xml_node child = node.append_child("gpu");
    // The number within the machine, as ids of other people's files need not end in one.
    int index = 0;
    for (const Device& other : machine_.devices) {
      if (&other == &device) break;
      if (other.kind == DeviceKind::gpu) ++index;
    }
    int capability = 0;
    if (std::sscanf(device.model.c_str(), "GPU sm_%4d", &capability) != 1)
      capability = compute_capability(device.model);
    child.append_attribute("dev") = index;
    if (capability > 0) child.append_attribute("sm") = capability;
    child.append_attribute("rank") = index;
    child.append_attribute("gdr") = 1;
    for (const Link& link : machine_.links) {
      if (link.kind != LinkKind::nvlink || (link.from != device.id && link.to != device.id)) continue;
      const Device* other = machine_.find(link.from == device.id ? link.to : link.from);
      if (other == nullptr) continue;
      pugi::xml_node nvlink = child.append_child("nvlink");
      const bool hidden = other->kind != DeviceKind::gpu && other->pci.empty();
      nvlink.append_attribute("target") = hidden ? kHiddenTarget : address_[other->id].c_str();
      nvlink.append_attribute("count") = link.count;
      nvlink.append_attribute("tclass") = other->kind == DeviceKind::gpu    ? "0x030200"
                                          : other->kind == DeviceKind::host ? "0x068001"
                                                                            : "0x068000";
    }
  }

  void nic(pugi::xml_node& node, const Device& device) {
    pugi::xml_node child = node.append_child("nic");
    std::vector<std::string> ports;
    std::istringstream in(device.model);
    for (std::string port; std::getline(in, port, '+');) ports.push_back(port);
    if (ports.empty()) ports.push_back(device.id);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      pugi::xml_node net = child.append_child("net");
      net.append_attribute("name") = ports[i].c_str();
      net.append_attribute("dev") = nets_++;
      const double gbps = device.read_gbps ? device.read_gbps->value / double(ports.size()) : 0;
      net.append_attribute("speed") = int(gbps * 8000 + 0.5);
      net.append_attribute("port") = int(i + 1);
      net.append_attribute("latency") = "0.000000";
      net.append_attribute("gdr") = 0;
    }
  }

  const Machine& machine_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> address_;
  std::map<std::string, pugi::xml_node> cpus_;
  std::set<std::string> placed_;
  int next_ = 0;
  int nets_ = 0;
};

}  // namespace

Result<std::string> to_nccl_xml(const Machine& machine) {
  return Writer(machine).write();
}

}  // namespace sennit::machine
