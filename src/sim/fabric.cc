#include "sim/fabric.h"

#include <algorithm>

#include <fmt/format.h>

#include "path/nics.h"
#include "place/device_graph.h"

namespace sennit::sim {

using machine::DeviceKind;
using machine::Method;

Fabric::Fabric(const machine::Machine& machine, int nodes, double memory_gbps)
    : network_(machine), nodes_(nodes), memory_gbps_(memory_gbps) {
  first_memory_ = static_cast<int>(network_.capacity().size());
  each_ = first_memory_ + network_.devices();
  ways_.resize(2 * static_cast<std::size_t>(network_.devices()) * static_cast<std::size_t>(network_.devices()));
  nic_ways_.resize(2 * static_cast<std::size_t>(network_.devices()));
  for (int device = 0; device < network_.devices(); ++device) nic_.push_back(path::nearest_nic(network_, device).nic);
}

Result<Fabric> Fabric::create(const machine::Machine& machine, int nodes, double memory_gbps) {
  Fabric fabric(machine, nodes, memory_gbps);
  for (int device = 0; nodes > 1 && device < fabric.network_.devices(); ++device)
    if (fabric.network_.is(device, DeviceKind::gpu) && fabric.nic_[static_cast<std::size_t>(device)] < 0)
      return Status(Code::invalid_argument,
                    fmt::format("{} of '{}' reaches no NIC", fabric.network_.device(device).id, machine.name), {},
                    "Add a device of kind \"nic\" and its link to the machine's file, or ask for one node");
  return fabric;
}

std::string Fabric::place_name(int place) const {
  const std::string& id = network_.device(device_of(place)).id;
  return nodes_ == 1 ? id : fmt::format("{} of node {}", id, node_of(place));
}

std::vector<double> Fabric::capacity() const {
  std::vector<double> one;
  for (const double gbps : network_.capacity()) one.push_back(gbps * kPerGbps);
  one.resize(static_cast<std::size_t>(each_), memory_gbps_ * kPerGbps);
  std::vector<double> all;
  all.reserve(one.size() * static_cast<std::size_t>(nodes_));
  for (int node = 0; node < nodes_; ++node) all.insert(all.end(), one.begin(), one.end());
  return all;
}

std::string Fabric::resource_name(int resource) const {
  const int local = resource % each_;
  return local < first_memory_ ? network_.resource_name(local)
                               : network_.device(local - first_memory_).id + ":memory";
}

std::string Fabric::full(int resource) const {
  return fmt::format("{} is {}", resource_name(resource), is_memory(resource) ? "busy" : "full");
}

int Fabric::host_of(int place) const {
  const int host = place::host_of(network_, device_of(place));
  return host < 0 ? -1 : this->place(node_of(place), host);
}

const Fabric::Way& Fabric::local(int from, int to, Method method) const {
  const auto devices = static_cast<std::size_t>(network_.devices());
  const std::size_t at = (static_cast<std::size_t>(method) * devices + static_cast<std::size_t>(from)) * devices +
                         static_cast<std::size_t>(to);
  if (!ways_[at]) {
    const path::Hop hop = network_.find_hop(from, to);
    ways_[at].emplace();
    if (hop.exists()) *ways_[at] = {true, network_.usage(hop, method, false)};
  }
  return *ways_[at];
}

bool Fabric::add_local(int node, int from, int to, Method method, double weight,
                       std::vector<path::Usage>& uses) const {
  if (from == to) return true;
  const Way& way = local(from, to, method);
  if (!way.exists) return false;
  for (const path::Usage& use : way.uses) path::add(uses, {node * each_ + use.resource, use.weight * weight});
  return true;
}

bool Fabric::add_nic(int node, int device, bool leaves, double weight, std::vector<path::Usage>& uses) const {
  std::optional<std::vector<path::Usage>>& way = nic_ways_[2 * static_cast<std::size_t>(device) + (leaves ? 1 : 0)];
  if (!way) way = path::usage_of_nic(network_, device, leaves);
  for (const path::Usage& use : *way) path::add(uses, {node * each_ + use.resource, use.weight * weight});
  return !way->empty();
}

bool Fabric::add_way(int from, int to, Method method, double weight, std::vector<path::Usage>& uses) const {
  if (from == to) return true;
  if (node_of(from) == node_of(to))
    return add_local(node_of(from), device_of(from), device_of(to), method, weight, uses);
  return add_nic(node_of(from), device_of(from), true, weight, uses) &&
         add_nic(node_of(to), device_of(to), false, weight, uses);
}

bool Fabric::add_multicast(int from, std::vector<int> to, std::vector<path::Usage>& uses) const {
  if (!add_nic(node_of(from), device_of(from), true, 1, uses)) return false;
  // What is added looks for its resource among all there are: node by node those are few, however many nodes.
  std::ranges::sort(to);
  std::vector<path::Usage> here;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!add_nic(node_of(to[i]), device_of(to[i]), false, 1, here)) return false;
    if (i + 1 < to.size() && node_of(to[i + 1]) == node_of(to[i])) continue;
    uses.insert(uses.end(), here.begin(), here.end());
    here.clear();
  }
  return true;
}

double Fabric::alone_gbps(const std::vector<path::Usage>& uses) const {
  double least = path::kUnlimited;
  for (const path::Usage& use : uses) {
    const int local = use.resource % each_;
    const double gbps = local < first_memory_ ? network_.capacity()[static_cast<std::size_t>(local)] : memory_gbps_;
    least = std::min(least, gbps / use.weight);
  }
  return least;
}

std::vector<Load> Fabric::loads(const Fluid& fluid, double us) const {
  const std::vector<double> most = capacity();
  std::vector<Load> all;
  for (int local = 0; local < each_; ++local) {
    Load load{resource_name(local), 0, 0};
    for (int node = 0; node < nodes_; ++node) {
      const double bytes = fluid.carried(node * each_ + local);
      load.bytes += bytes;
      if (us > 0) load.busy = std::max(load.busy, bytes / (most[static_cast<std::size_t>(local)] * us));
    }
    if (load.bytes > 0) all.push_back(std::move(load));
  }
  std::ranges::stable_sort(all, std::greater<>(), &Load::busy);
  return all;
}

}  // namespace sennit::sim
