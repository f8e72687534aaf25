#include "machine/machine.h"

#include <algorithm>
#include <cctype>

namespace sennit::machine {

namespace {

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b,
                            [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::string_view name(Source source) {
  switch (source) {
    case Source::measured: return "measured";
    case Source::specification: return "specification";
    case Source::assumed: return "assumed";
  }
  return "unknown";
}

std::string_view name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::gpu: return "gpu";
    case DeviceKind::host: return "host";
    case DeviceKind::pcie_switch: return "pcie_switch";
    case DeviceKind::nvswitch: return "nvswitch";
    case DeviceKind::nic: return "nic";
  }
  return "unknown";
}

std::string_view name(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink: return "nvlink";
    case LinkKind::pcie: return "pcie";
    case LinkKind::socket: return "socket";
    case LinkKind::network: return "network";
  }
  return "unknown";
}

std::string_view name(Method method) {
  switch (method) {
    case Method::engine: return "engine";
    case Method::sm: return "sm";
  }
  return "unknown";
}

std::string_view name(Traffic traffic) {
  switch (traffic) {
    case Traffic::one_way: return "one_way";
    case Traffic::both_ways: return "both_ways";
    case Traffic::all_at_once: return "all_at_once";
  }
  return "unknown";
}

const Device* Machine::find(std::string_view id) const {
  if (id.empty()) return nullptr;
  for (const Device& device : devices)
    if (same_word(device.id, id) || same_word(device.uuid, id) || same_word(device.pci, id)) return &device;
  return nullptr;
}

const Link* Machine::link(std::string_view a, std::string_view b) const {
  const Device* one = find(a);
  const Device* other = find(b);
  if (one == nullptr || other == nullptr) return nullptr;
  const Link* best = nullptr;
  for (const Link& candidate : links) {
    const bool joins = (same_word(candidate.from, one->id) && same_word(candidate.to, other->id)) ||
                       (same_word(candidate.from, other->id) && same_word(candidate.to, one->id));
    if (joins && (best == nullptr || candidate.forward_gbps.value > best->forward_gbps.value)) best = &candidate;
  }
  return best;
}

const Curve* Machine::curve(std::string_view from, std::string_view to, Method method, Traffic traffic) const {
  const Device* source = find(from);
  const Device* destination = find(to);
  if (source == nullptr || destination == nullptr) return nullptr;
  for (const Curve& candidate : curves)
    if (same_word(candidate.from, source->id) && same_word(candidate.to, destination->id) &&
        candidate.method == method && candidate.traffic == traffic)
      return &candidate;
  return nullptr;
}

}  // namespace sennit::machine
