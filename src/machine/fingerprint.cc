#include "machine/fingerprint.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace sennit::machine {

namespace {

std::string identity(const Device& device) {
  // A device without any identity of its own (host memory, an NVSwitch hidden from a virtual machine) is known by
  // its id, which discovery derives from its NUMA node or sets once.
  const std::string own = device.uuid.empty() && device.pci.empty() ? device.id : std::string();
  return fmt::format("{}|{}|{}|{}|{}", name(device.kind), device.uuid, device.pci, device.model, own);
}

/// FNV-1a, 64 bits: public, stable, and good enough to tell a user's machines apart. Not a defence against forgery.
std::uint64_t hash(const std::vector<std::string>& lines) {
  std::uint64_t state = 14695981039346656037ull;
  const auto add = [&](unsigned char byte) { state = (state ^ byte) * 1099511628211ull; };
  for (const std::string& line : lines) {
    for (const char c : line) add(static_cast<unsigned char>(c));
    add('\n');
  }
  return state;
}

}  // namespace

std::string fingerprint(const Machine& machine) {
  std::vector<std::string> lines;
  for (const Device& device : machine.devices) lines.push_back("device " + identity(device));
  for (const Link& link : machine.links) {
    const Device* from = machine.find(link.from);
    const Device* to = machine.find(link.to);
    std::string one = from != nullptr ? identity(*from) : link.from;
    std::string other = to != nullptr ? identity(*to) : link.to;
    if (other < one) std::swap(one, other);
    lines.push_back(fmt::format("link {} {} {} {}", one, other, name(link.kind), link.count));
  }
  std::ranges::sort(lines);
  lines.push_back("driver " + machine.driver);
  return fmt::format("{:016x}", hash(lines));
}

}  // namespace sennit::machine
