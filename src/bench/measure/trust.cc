#include "bench/measure/trust.h"

#include <algorithm>

#include <fmt/format.h>

#include "path/network.h"

namespace sennit::bench::measure {

using machine::DeviceKind;
using machine::Link;
using machine::LinkKind;
using machine::Machine;

namespace {

long failures(const Pairs& failed, const std::string& id) {
  return std::ranges::count_if(failed, [&](const auto& pair) { return pair.first == id || pair.second == id; });
}

/// Returns the link to blame for one failed pair: of the way's first and last the one at the device with more
/// failures.
std::size_t blamed(const path::Hop& hop, const Pairs& failed, const std::string& from, const std::string& to,
                   bool to_host, bool from_host) {
  const std::size_t first = std::size_t(hop.arcs.front()) / 2, last = std::size_t(hop.arcs.back()) / 2;
  if (to_host) return first;
  if (from_host) return last;
  return failures(failed, from) >= failures(failed, to) ? first : last;
}

}  // namespace

std::vector<std::string> cut(Machine& machine, const Pairs& failed) {
  std::vector<std::string> taken;
  for (const auto& [from, to] : failed) {
    for (;;) {
      const path::Network network(machine);
      const int source = network.index(from), target = network.index(to);
      if (source < 0 || target < 0) break;
      const path::Hop hop = network.find_hop(source, target);
      if (!hop.exists() || hop.arcs.empty()) break;
      const bool from_host = network.is(source, DeviceKind::host), to_host = network.is(target, DeviceKind::host);
      const std::size_t at = blamed(hop, failed, from, to, to_host, from_host);
      Link& link = machine.links[at];
      if (!from_host && !to_host && link.kind == LinkKind::pcie && link.peer_access) {
        link.peer_access = false;
        taken.push_back(fmt::format("{} - {} carries no traffic between GPUs, because a copy from {} to {} failed",
                                    link.from, link.to, from, to));
      } else {
        taken.push_back(
            fmt::format("{} - {} is left out, because a copy from {} to {} failed", link.from, link.to, from, to));
        machine.links.erase(machine.links.begin() + std::ptrdiff_t(at));
      }
    }
  }
  return taken;
}

std::string likeness(const Machine& machine, const std::string& from, const std::string& to) {
  const path::Network network(machine);
  const int source = network.index(from), target = network.index(to);
  if (source < 0 || target < 0) return "unknown";
  const path::Hop hop = network.find_hop(source, target);
  std::string text;
  for (const int arc : hop.arcs) {
    const Link& link = machine.links[std::size_t(arc) / 2];
    text += fmt::format("{}×{} ", name(link.kind), link.count);
  }
  // Links alike between unlike GPUs are not alike.
  return text + network.device(source).model + " " + network.device(target).model;
}

}  // namespace sennit::bench::measure
