#include "place/device_graph.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "path/nics.h"
#include "path/timing.h"

namespace sennit::place {

using machine::DeviceKind;
using machine::LinkKind;
using machine::Method;

namespace {

constexpr std::array<std::string_view, 4> kMetrics = {"latency", "bandwidth", "distance", "contention"};
/// The sizes over which the paper's means go: all that it measured above 2 KiB.
constexpr double kFirstSize = 4 << 10, kLastSize = 16 << 20;

}  // namespace

std::string_view name(Metric metric) {
  return kMetrics[std::size_t(metric)];
}

Result<Metric> parse_metric(std::string_view text) {
  for (std::size_t i = 0; i < kMetrics.size(); ++i)
    if (kMetrics[i] == text) return Metric(i);
  return Status(Code::invalid_argument, fmt::format("there is no metric '{}'", text), {},
                "Name latency, bandwidth, distance or contention");
}

std::string_view name(Joined joined) {
  constexpr std::array<std::string_view, 6> kNames = {"board",       "one switch", "several switches",
                                                      "host bridge", "sockets",    "nothing"};
  return kNames[std::size_t(joined)];
}

int host_of(const path::Network& network, int device) {
  int host = -1;
  for (int each = 0; each < network.devices(); ++each)
    if (network.is(each, DeviceKind::host) && (host < 0 || network.device(each).numa == network.device(device).numa))
      host = each;
  return host;
}

Result<DeviceGraph> DeviceGraph::create(const path::Network& network, std::vector<int> gpus) {
  DeviceGraph graph(network);
  if (gpus.empty()) gpus = network.gpus();
  if (gpus.empty())
    return Status(Code::invalid_argument, fmt::format("machine '{}' has no GPU", network.machine().name), {},
                  "Name a machine with GPUs: --machine");
  graph.gpus_ = std::move(gpus);
  const auto n = graph.gpus_.size();
  graph.pairs_.resize(n * n);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      if (a != b)
        if (auto status = graph.find_way(int(a), int(b), graph.pairs_[a * n + b]); !status) return status;
  for (const int gpu : graph.gpus_) {
    graph.out_.push_back(graph.timed(path::usage_of_nic(network, gpu, true)));
    graph.in_.push_back(graph.timed(path::usage_of_nic(network, gpu, false)));
  }
  graph.share_curves();
  graph.set_levels();
  graph.set_closeness();
  return graph;
}

Status DeviceGraph::find_way(int a, int b, Pair& pair) const {
  const path::Network& network = *network_;
  const int from = gpus_[a], to = gpus_[b];
  pair.joined = find_joined(from, to);
  std::vector<path::Usage> uses;
  const auto take = [&](const path::Hop& hop) {
    path::merge(uses, network.usage(hop, Method::sm, false));
    pair.hops += int(hop.arcs.size());
  };
  const path::Hop hop = network.find_hop(from, to);
  if (hop.exists()) {
    take(hop);
    pair.gbps = hop.gbps;
    const machine::Machine& machine = network.machine();
    pair.one_way =
        machine.curve(network.device(from).id, network.device(to).id, Method::engine, machine::Traffic::one_way);
    pair.both_ways =
        machine.curve(network.device(from).id, network.device(to).id, Method::engine, machine::Traffic::both_ways);
    pair.is_measured = pair.one_way != nullptr;
  } else {
    pair.host = host_of(network, from);
    // Staged by whoever measured it: a library's own way.
    const machine::Machine& machine = network.machine();
    pair.one_way =
        machine.curve(network.device(from).id, network.device(to).id, Method::engine, machine::Traffic::one_way);
    pair.both_ways =
        machine.curve(network.device(from).id, network.device(to).id, Method::engine, machine::Traffic::both_ways);
    const path::Hop there = pair.host < 0 ? path::Hop() : network.find_hop(from, pair.host);
    const path::Hop on = pair.host < 0 ? path::Hop() : network.find_hop(pair.host, to);
    if (!there.exists() || !on.exists())
      return Status(Code::unsupported,
                    fmt::format("no links lead from {} to {}", network.device(from).id, network.device(to).id),
                    fmt::format("machine '{}'", network.machine().name), "Add the missing links to its file");
    take(there);
    take(on);
    pair.gbps = std::min(there.gbps, on.gbps);
  }
  pair.uses = timed(uses);
  return {};
}

std::vector<Use> DeviceGraph::timed(const std::vector<path::Usage>& uses) const {
  std::vector<Use> all;
  for (const path::Usage& use : uses)
    all.push_back({use.resource, use.weight, use.weight / (network_->capacity()[std::size_t(use.resource)] * 1e3)});
  return all;
}

/// By PCIe and links between sockets, whatever may pass there: the driver's peer access is another question. GPUs
/// that hang off a host by NVLink (POWER9) are joined by it too.
Joined DeviceGraph::find_joined(int from, int to) const {
  const path::Network& network = *network_;
  const auto passes = [&](const path::Arc& arc) {
    const bool is_switch = network.is(arc.to, DeviceKind::pcie_switch) || network.is(arc.to, DeviceKind::host);
    const bool at_host = network.is(arc.from, DeviceKind::host) || network.is(arc.to, DeviceKind::host);
    return (arc.to == to || is_switch) && (arc.kind == LinkKind::pcie || arc.kind == LinkKind::socket || at_host);
  };
  std::vector<int> by(std::size_t(network.devices()), -1), queue{from};
  for (std::size_t next = 0; next < queue.size() && by[std::size_t(to)] < 0; ++next)
    for (std::size_t a = 0; a < network.arcs().size(); ++a) {
      const path::Arc& arc = network.arcs()[a];
      if (arc.from != queue[next] || arc.to < 0 || arc.to == from || by[std::size_t(arc.to)] >= 0 || !passes(arc))
        continue;
      by[std::size_t(arc.to)] = int(a);
      queue.push_back(arc.to);
    }
  if (by[std::size_t(to)] < 0) return Joined::nothing;
  int switches = 0, hosts = 0;
  bool on_board = false;
  for (int at = network.arcs()[std::size_t(by[std::size_t(to)])].from; at != from;
       at = network.arcs()[std::size_t(by[std::size_t(at)])].from) {
    if (network.is(at, DeviceKind::host)) ++hosts;
    if (network.is(at, DeviceKind::pcie_switch)) {
      ++switches;
      on_board = network.device(at).model.find("board") != std::string::npos;
    }
  }
  if (hosts > 1) return Joined::socket;
  if (hosts == 1) return Joined::host_bridge;
  return switches > 1 ? Joined::switches : on_board ? Joined::board : Joined::one_switch;
}

/// Of pairs that are alike a machine's document has one measured: the others take its curves, or a measured pair
/// would be held against the figures of links.
void DeviceGraph::share_curves() {
  for (Pair& pair : pairs_)
    for (const Pair& other : pairs_) {
      if (pair.host >= 0 || other.host >= 0 || other.hops != pair.hops || other.gbps != pair.gbps) continue;
      if (pair.one_way == nullptr) pair.one_way = other.one_way;
      if (pair.both_ways == nullptr) pair.both_ways = other.both_ways;
    }
}

void DeviceGraph::set_levels() {
  std::array<bool, 6> found{};
  for (std::size_t a = 0; a < gpus_.size(); ++a)
    for (std::size_t b = 0; b < gpus_.size(); ++b)
      if (a != b) found[std::size_t(pairs_[a * gpus_.size() + b].joined)] = true;
  std::array<int, 6> level{};
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i]) level[i] = levels_++;
  for (Pair& pair : pairs_) pair.level = level[std::size_t(pair.joined)];
}

double DeviceGraph::copy_us(int a, int b, double bytes, bool both_ways) const {
  if (a == b) return 0;
  const Pair& pair = at(a, b);
  const machine::Curve* const curve = both_ways ? pair.both_ways : pair.one_way;
  if (curve != nullptr && !curve->points.empty()) return path::interpolate(*curve, path::fit(*curve), bytes);
  // Both ways at once are slower where they share a resource.
  double us_per_byte = 1 / (pair.gbps * 1e3);
  for (const Use& use : pair.uses) {
    double both = use.us_per_byte;
    if (both_ways)
      for (const Use& back : at(b, a).uses)
        if (back.resource == use.resource) both += back.us_per_byte;
    us_per_byte = std::max(us_per_byte, both);
  }
  // Through host memory the second copy of a chunk waits for its first one: a chunk of four more.
  if (pair.host >= 0) return 2 * path::kDirectStartupUs + 1.25 * bytes * us_per_byte;
  return path::kDirectStartupUs + bytes * us_per_byte;
}

void DeviceGraph::set_closeness() {
  const auto levels = std::size_t(levels_);
  std::vector<double> latency(levels, 0), bandwidth(levels, 0);
  int sizes = 0;
  for (double bytes = kFirstSize; bytes <= kLastSize; bytes *= 2, ++sizes) {
    std::vector<double> one(levels, 0), both(levels, 0), pairs(levels, 0);
    for (int a = 0; a < gpus(); ++a)
      for (int b = 0; b < gpus(); ++b) {
        if (a == b) continue;
        const auto at_level = std::size_t(level(a, b));
        one[at_level] += copy_us(a, b, bytes, false);
        both[at_level] += copy_us(a, b, bytes, true);
        ++pairs[at_level];
      }
    for (std::size_t i = 0; i < levels; ++i) {
      latency[i] += (one.back() / pairs.back()) / (one[i] / pairs[i]);
      bandwidth[i] += (both.back() / pairs.back()) / (both[i] / pairs[i]);
    }
  }
  for (std::size_t i = 0; i < levels; ++i) {
    latency_.push_back(latency[i] / sizes);
    bandwidth_.push_back(bandwidth[i] / sizes);
  }
}

double DeviceGraph::closeness(Metric metric, int a, int b) const {
  if (a == b) return 0;
  switch (metric) {
    case Metric::latency: return latency_[std::size_t(level(a, b))];
    case Metric::bandwidth: return bandwidth_[std::size_t(level(a, b))];
    default: return levels_ - level(a, b);
  }
}

double DeviceGraph::cost(Metric metric, int a, int b) const {
  if (a == b) return 0;
  switch (metric) {
    case Metric::latency:
    case Metric::bandwidth: return 1 / closeness(metric, a, b);
    case Metric::distance: return level(a, b) + 1;
    default: return hops(a, b);
  }
}

DeviceGraph::Difference DeviceGraph::difference(double bytes) const {
  double least = path::kUnlimited, most = 0;
  bool measured = true;
  for (int a = 0; a < gpus(); ++a)
    for (int b = 0; b < gpus(); ++b) {
      if (a == b) continue;
      const double us = copy_us(a, b, bytes, false);
      least = std::min(least, us);
      most = std::max(most, us);
      measured = measured && at(a, b).is_measured;
    }
  if (most <= 0) return {0, false};
  return {1 - least / most, measured};
}

}  // namespace sennit::place
