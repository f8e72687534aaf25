#include "path/network.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "path/timing.h"

namespace sennit::path {

using machine::DeviceKind;
using machine::Method;
using machine::Source;

namespace {

double value_or_unlimited(const std::optional<machine::Figure>& figure) {
  return figure && figure->value > 0 ? figure->value : kUnlimited;
}

}  // namespace

Network::Network(const machine::Machine& machine) : machine_(machine) {
  arcs_.reserve(machine.links.size() * 2);
  out_.resize(machine.devices.size());
  std::vector<double> both;
  for (const machine::Link& link : machine.links) {
    const int from = index(link.from), to = index(link.to);
    const double latency = link.latency_us ? link.latency_us->value : 0;
    const int first = int(arcs_.size());
    arcs_.push_back(
        {from, to, link.forward_gbps.value, link.kind, link.forward_gbps.source, link.peer_access, latency});
    arcs_.push_back(
        {to, from, link.backward_gbps.value, link.kind, link.backward_gbps.source, link.peer_access, latency});
    both.push_back(value_or_unlimited(link.both_gbps));
    // A link to a device that is not in the document leads nowhere.
    if (from < 0 || to < 0 || from == to) continue;
    out_[from].push_back(first);
    out_[to].push_back(first + 1);
  }
  for (const Arc& arc : arcs_) capacity_.push_back(std::max(arc.gbps, 0.0));
  first_both_ = int(capacity_.size());
  capacity_.insert(capacity_.end(), both.begin(), both.end());
  first_limit_ = int(capacity_.size());
  for (const machine::Device& device : machine.devices) {
    capacity_.push_back(value_or_unlimited(device.read_gbps));
    capacity_.push_back(value_or_unlimited(device.write_gbps));
    capacity_.push_back(value_or_unlimited(device.read_write_gbps));
    capacity_.push_back(device.copy_engines > 0 ? device.copy_engines : kUnlimited);
  }
}

std::vector<int> Network::gpus() const {
  std::vector<int> all;
  for (int device = 0; device < devices(); ++device)
    if (is(device, DeviceKind::gpu)) all.push_back(device);
  return all;
}

int Network::index(std::string_view id) const {
  for (std::size_t i = 0; i < machine_.devices.size(); ++i)
    if (machine_.devices[i].id == id) return int(i);
  return -1;
}

std::string Network::resource_name(int resource) const {
  if (resource < first_both_)
    return fmt::format("{}>{}", device(arcs_[resource].from).id, device(arcs_[resource].to).id);
  if (resource < first_limit_) {
    const Arc& arc = arcs_[2 * std::size_t(resource - first_both_)];
    return fmt::format("{}<>{}", device(arc.from).id, device(arc.to).id);
  }
  constexpr const char* kNames[kLimits] = {"read", "write", "read_write", "engines"};
  const int which = resource - first_limit_;
  return fmt::format("{}:{}", device(which / kLimits).id, kNames[which % kLimits]);
}

std::string Network::resource_capacity(int resource) const {
  if (resource >= first_limit_ && (resource - first_limit_) % kLimits == kEngines)
    return fmt::format("{} copy engines", int(capacity_[resource]));
  return fmt::format("{:.4g} GB/s", capacity_[resource]);
}

std::vector<char> Network::passable(int from, int to) const {
  std::vector<char> pass(machine_.devices.size(), 0);
  for (int d = 0; d < devices(); ++d)
    pass[d] = is(d, DeviceKind::pcie_switch) || is(d, DeviceKind::nvswitch) || is(d, DeviceKind::host);
  pass[from] = pass[to] = 1;
  return pass;
}

Hop Network::find_hop(int from, int to) const {
  Hop hop{from, to, {}, 0, nullptr, 0};
  if (from == to) return hop;
  const bool peers = is(from, DeviceKind::gpu) && is(to, DeviceKind::gpu);
  const std::vector<char> pass = passable(from, to);
  const auto usable = [&](int a) { return pass[arcs_[a].to] && (arcs_[a].peer_access || !peers); };
  const auto by_nvlink = [&](int a) {
    return usable(a) && arcs_[a].kind == machine::LinkKind::nvlink && !is(arcs_[a].to, DeviceKind::host);
  };
  if (!peers || !find_widest(hop, by_nvlink)) find_widest(hop, usable);
  for (const machine::Curve& curve : machine_.curves)
    if (curve.method == Method::engine && curve.traffic == machine::Traffic::one_way &&
        curve.from == device(from).id && curve.to == device(to).id) {
      const Line line = fit(curve);
      if (line.gbps > 0) hop.curve = &curve, hop.curve_gbps = line.gbps;
      break;
    }
  return hop;
}

template <class Usable>
bool Network::find_widest(Hop& hop, const Usable& usable) const {
  const int from = hop.from, to = hop.to;
  // The width first (Dijkstra over the narrowest arc so far), then the fewest links that are at least that wide: a
  // search for both at once can prefer a short beginning that turns out to be too narrow.
  std::vector<double> width(machine_.devices.size(), 0);
  std::vector<char> done(machine_.devices.size(), 0);
  width[from] = kUnlimited;
  while (true) {
    int best = -1;
    for (int d = 0; d < devices(); ++d)
      if (!done[d] && width[d] > 0 && (best < 0 || width[d] > width[best])) best = d;
    if (best < 0) return false;
    if (best == to) break;
    done[best] = 1;
    for (const int a : out_[best])
      if (usable(a)) width[arcs_[a].to] = std::max(width[arcs_[a].to], std::min(width[best], arcs_[a].gbps));
  }
  hop.gbps = width[to];

  std::vector<int> arrived_by(machine_.devices.size(), -1), queue{from};
  for (std::size_t next = 0; next < queue.size() && arrived_by[to] < 0; ++next)
    for (const int a : out_[queue[next]]) {
      const int d = arcs_[a].to;
      if (!usable(a) || arcs_[a].gbps < hop.gbps || d == from || arrived_by[d] >= 0) continue;
      arrived_by[d] = a;
      queue.push_back(d);
    }
  for (int d = to; d != from; d = arcs_[arrived_by[d]].from) hop.arcs.push_back(arrived_by[d]);
  std::reverse(hop.arcs.begin(), hop.arcs.end());
  return true;
}

std::vector<Usage> Network::usage(const Hop& hop, Method method, bool reverse) const {
  std::vector<Usage> uses;
  const auto take = [&](int resource, double weight) {
    if (capacity_[resource] < kUnlimited) uses.push_back({resource, weight});
  };
  for (const int a : hop.arcs) {
    take(reverse ? a ^ 1 : a, 1);
    take(first_both_ + a / 2, 1);
  }
  const int from = reverse ? hop.to : hop.from, to = reverse ? hop.from : hop.to;
  // A GPU's own limit is what it sends to, or receives from, other GPUs: so it is measured, and its link to the host
  // is another one. A host's limit is its memory's.
  const bool peers = is(from, DeviceKind::gpu) && is(to, DeviceKind::gpu);
  if (peers || is(from, DeviceKind::host)) take(limit(from, kRead), 1), take(limit(from, kReadWrite), 1);
  if (peers || is(to, DeviceKind::host)) take(limit(to, kWrite), 1), take(limit(to, kReadWrite), 1);
  if (method == Method::engine) take(limit(is(from, DeviceKind::gpu) ? from : to, kEngines), 1 / hop.rate());
  return uses;
}

double Network::demand_on(int host, Limit which) const {
  double demand = 0;
  for (std::size_t a = 0; a < arcs_.size(); ++a) {
    const Arc& arc = arcs_[a];
    if (arc.kind != machine::LinkKind::pcie && arc.kind != machine::LinkKind::nvlink) continue;
    if ((which == kRead ? arc.from : arc.to) == host) demand += capacity_[a];
  }
  return demand;
}

// n flows that want D together get (D^-p + K^-p)^(-1/p) of a memory whose knee K follows from the measured limit L
// at the demand A of all links: K^-p = L^-p - A^-p. On 4 × H200 (A = 220, L = 157 GB/s) p = 3 gives 103, 137 and 157
// GB/s for 2, 3 and 4 GPUs reading, measured 100-106, 136-151 and 154-186; writing (L = 133) 97, 122 and 133,
// measured 97-107, 121-138 and 131-145.
std::vector<double> Network::rates(std::span<const Flow* const> flows) const {
  constexpr double kSharpness = 3;
  const auto power = [](double value) { return std::pow(value, -kSharpness); };
  std::vector<double> capacity = capacity_;
  std::vector<int> soft;
  for (int d = 0; d < devices(); ++d)
    for (const Limit which : {kRead, kWrite}) {
      const int resource = limit(d, which);
      if (!is(d, DeviceKind::host) || capacity_[resource] >= demand_on(d, which)) continue;
      const auto uses_it = [&](const Flow* flow) {
        return std::ranges::find(flow->uses, resource, &Usage::resource) != flow->uses.end();
      };
      // One flow alone is what was measured for it.
      if (std::ranges::count_if(flows, uses_it) < 2) continue;
      capacity[resource] = capacity[limit(d, kReadWrite)] = kUnlimited;
      soft.push_back(resource);
    }
  std::vector<double> result = fair_rates(capacity, flows);
  if (soft.empty()) return result;
  for (const int resource : soft) {
    const int device = (resource - first_limit_) / kLimits;
    capacity[limit(device, kReadWrite)] = capacity_[limit(device, kReadWrite)];
    const Limit which = Limit((resource - first_limit_) % kLimits);
    double wanted = 0;
    for (std::size_t f = 0; f < flows.size(); ++f)
      for (const Usage& use : flows[f]->uses)
        if (use.resource == resource) wanted += use.weight * result[f];
    const double knee = power(capacity_[resource]) - power(demand_on(device, which));
    capacity[resource] = capacity_[resource];
    if (wanted > 0)
      capacity[resource] = std::min(capacity_[resource], std::pow(power(wanted) + knee, -1 / kSharpness));
  }
  return fair_rates(capacity, flows);
}

double Network::arc_capacity(int arc, bool both_ways) const {
  const double both = capacity_[first_both_ + arc / 2];
  return both_ways ? std::min({capacity_[arc], capacity_[arc ^ 1], both / 2}) : std::min(capacity_[arc], both);
}

double Network::out_of_memory(int device, bool both_ways) const {
  if (!is(device, DeviceKind::host)) return kUnlimited;
  const double read = capacity_[limit(device, kRead)], both = capacity_[limit(device, kReadWrite)];
  return both_ways ? std::min({read, capacity_[limit(device, kWrite)], both / 2}) : std::min(read, both);
}

double Network::into_memory(int device, bool both_ways) const {
  if (!is(device, DeviceKind::host)) return kUnlimited;
  const double write = capacity_[limit(device, kWrite)], both = capacity_[limit(device, kReadWrite)];
  return both_ways ? std::min({write, capacity_[limit(device, kRead)], both / 2}) : std::min(write, both);
}

double Network::through_memory(int device, bool both_ways) const {
  if (!is(device, DeviceKind::host)) return kUnlimited;
  const double read = capacity_[limit(device, kRead)], write = capacity_[limit(device, kWrite)];
  return std::min({read, write, capacity_[limit(device, kReadWrite)] / 2}) / (both_ways ? 2 : 1);
}

void Network::calibrate(const std::vector<const Hop*>& hops) {
  std::vector<double> delivered(arcs_.size(), 0);
  std::vector<char> narrowest(arcs_.size(), 0);
  const auto at_least = [&](int resource, double gbps) { capacity_[resource] = std::max(capacity_[resource], gbps); };
  for (const Hop* hop : hops) {
    if (hop->curve == nullptr) continue;
    for (const int a : hop->arcs) {
      delivered[a] = std::max(delivered[a], hop->curve_gbps);
      if (arcs_[a].gbps <= hop->gbps) narrowest[a] = 1;
      at_least(first_both_ + a / 2, hop->curve_gbps);
    }
    for (const Limit which : {kRead, kReadWrite}) at_least(limit(hop->from, which), hop->curve_gbps);
    for (const Limit which : {kWrite, kReadWrite}) at_least(limit(hop->to, which), hop->curve_gbps);
  }
  for (std::size_t a = 0; a < arcs_.size(); ++a) {
    at_least(int(a), delivered[a]);
    if (narrowest[a] && arcs_[a].source != Source::measured) capacity_[a] = delivered[a];
  }
}

void add(std::vector<Usage>& uses, const Usage& use) {
  const auto same = std::ranges::find(uses, use.resource, &Usage::resource);
  if (same != uses.end())
    same->weight += use.weight;
  else
    uses.push_back(use);
}

void merge(std::vector<Usage>& uses, const std::vector<Usage>& more) {
  for (const Usage& use : more) add(uses, use);
}

}  // namespace sennit::path
