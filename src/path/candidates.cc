// Enumerates the routes between two memories:
// 1. direct: one copy over the widest way that rests in no memory;
// 2. between GPUs, staged through the host memory nearest to the source and that nearest to the destination, by copy
//    engines and by kernels (the same links twice, so that a split takes one of the two);
// 3. relayed by one other GPU: between GPUs over what joins them, between GPU and host over the other GPU's own way
//    to the host;
// 4. relayed by two other GPUs in a row, where the first and the last hop are links of their own and neither of the
//    two could relay as fast by itself (meshes; behind a switch this never holds).
// A relay that would come back over a link it went out on is not a route.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "path/routes.h"

namespace sennit::path {

using machine::DeviceKind;
using machine::Method;
using machine::Source;

std::string Route::name() const {
  if (direct()) return "direct";
  std::string text;
  for (std::size_t i = 1; i + 1 < stops.size(); ++i) text += (i > 1 ? " → " : "") + stops[i];
  return text + (method == Method::sm ? " (sm)" : " (engine)");
}

namespace {

class Enumeration {
 public:
  Enumeration(Network& network, int from, int to, std::uint64_t bytes, bool both_ways)
      : network_(network), from_(from), to_(to), bytes_(bytes), both_ways_(both_ways) {}

  std::vector<PlannedRoute> run();

 private:
  const Hop& hop(int from, int to);
  int nearest_host(int gpu);
  void find_staged();
  void find_relayed();
  void find_relayed_twice();
  std::optional<PlannedRoute> local() const;
  PlannedRoute plan(const std::vector<const Hop*>& hops, Method method);
  PlannedRoute finish(PlannedRoute planned, const std::vector<const Hop*>& hops) const;
  Timing direct_timing(const Hop& hop, Source& source) const;
  Timing pipeline_timing(const std::vector<const Hop*>& hops, Method method, Source& source);
  bool returns(const std::vector<const Hop*>& hops) const;
  const machine::StagedPath* measured(const std::vector<const Hop*>& hops, Method method);

  Network& network_;
  int from_, to_;
  std::uint64_t bytes_;
  bool both_ways_;
  std::vector<Hop> hops_ = std::vector<Hop>(std::size_t(network_.devices()) * std::size_t(network_.devices()));
  std::vector<char> known_ = std::vector<char>(hops_.size(), 0);
  std::vector<std::pair<std::vector<const Hop*>, Method>> found_;
};

const Hop& Enumeration::hop(int from, int to) {
  const std::size_t at = std::size_t(from) * std::size_t(network_.devices()) + std::size_t(to);
  if (!known_[at]) hops_[at] = network_.find_hop(from, to), known_[at] = 1;
  return hops_[at];
}

std::vector<PlannedRoute> Enumeration::run() {
  std::vector<PlannedRoute> routes;
  if (const auto route = local()) {
    routes.push_back(*route);
    return routes;
  }
  if (hop(from_, to_).exists()) found_.push_back({{&hop(from_, to_)}, Method::engine});
  if (network_.is(from_, DeviceKind::gpu) && network_.is(to_, DeviceKind::gpu)) find_staged();
  find_relayed();
  find_relayed_twice();

  // Capacities are corrected by all hops before any route is judged by them.
  std::vector<const Hop*> used;
  for (const auto& [hops, method] : found_) used.insert(used.end(), hops.begin(), hops.end());
  network_.calibrate(used);
  for (const auto& [hops, method] : found_)
    if (PlannedRoute route = plan(hops, method); route.candidate.rate_gbps > 0) routes.push_back(std::move(route));
  std::ranges::stable_sort(routes, {}, [&](const PlannedRoute& route) { return route.alone_us(double(bytes_)); });
  return routes;
}

// Within one device, and between host memories, where processors copy: one route.
std::optional<PlannedRoute> Enumeration::local() const {
  const bool same = from_ == to_;
  const bool hosts = network_.is(from_, DeviceKind::host) && network_.is(to_, DeviceKind::host);
  if (!same && !hosts) return std::nullopt;
  const auto& machine = network_.machine();
  const std::string& from = network_.device(from_).id;
  const std::string& to = network_.device(to_).id;
  PlannedRoute planned;
  Candidate& candidate = planned.candidate;
  candidate.route = {{from, to}, Method::engine};
  planned.timing = {kLocalStartupUs, hosts ? kLocalHostGbps : kLocalGpuGbps, nullptr, false, 0, 0, 1};
  const machine::Curve* curve = machine.curve(from, to, Method::engine, machine::Traffic::one_way);
  if (const Line line = curve != nullptr ? fit(*curve) : Line{}; line.gbps > 0) {
    planned.timing = {line.startup_us, line.gbps, curve, false, 0, 0, 1};
    candidate.source = Source::measured;
  }
  Hop way;
  if (!same) way = network_.find_hop(from_, to_);
  if (!same && way.exists()) {
    if (curve == nullptr) planned.timing.gbps = std::min(planned.timing.gbps, way.gbps);
    return finish(std::move(planned), {&way});
  }
  return finish(std::move(planned), {});
}

int Enumeration::nearest_host(int gpu) {
  int best = -1;
  for (int d = 0; d < network_.devices(); ++d) {
    if (!network_.is(d, DeviceKind::host) || !hop(gpu, d).exists() || !hop(d, gpu).exists()) continue;
    const auto distance = [&](int host) { return std::pair(hop(gpu, host).arcs.size(), -hop(gpu, host).gbps); };
    if (best < 0 || distance(d) < distance(best)) best = d;
  }
  return best;
}

void Enumeration::find_staged() {
  const int near_source = nearest_host(from_), near_destination = nearest_host(to_);
  const auto stage_in = [&](int host) {
    if (host < 0 || !hop(from_, host).exists() || !hop(host, to_).exists()) return;
    for (const Method method : {Method::sm, Method::engine})
      found_.push_back({{&hop(from_, host), &hop(host, to_)}, method});
  };
  stage_in(near_source);
  if (near_destination != near_source) stage_in(near_destination);
}

// Returns whether a route goes back over a link that it went out on, other than a relay's own link to its switch:
// such a detour (to another socket and back) only competes with the routes that stay.
bool Enumeration::returns(const std::vector<const Hop*>& hops) const {
  for (std::size_t i = 0; i < hops.size(); ++i)
    for (std::size_t j = i + 1; j < hops.size(); ++j)
      for (const int out : hops[i]->arcs) {
        const bool own = j == i + 1 && network_.arcs()[out].to == hops[i]->to;
        if (!own && std::ranges::count(hops[j]->arcs, out ^ 1) > 0) return true;
      }
  return false;
}

void Enumeration::find_relayed() {
  for (int d = 0; d < network_.devices(); ++d) {
    if (!network_.is(d, DeviceKind::gpu) || d == from_ || d == to_) continue;
    if (hop(from_, d).exists() && hop(d, to_).exists() && !returns({&hop(from_, d), &hop(d, to_)}))
      found_.push_back({{&hop(from_, d), &hop(d, to_)}, Method::engine});
  }
}

void Enumeration::find_relayed_twice() {
  const auto gpu = [&](int d) { return network_.is(d, DeviceKind::gpu) && d != from_ && d != to_; };
  const auto own_link = [&](const Hop& way) {
    return way.arcs.size() == 1 && network_.arcs()[way.arcs.front()].kind == machine::LinkKind::nvlink;
  };
  const auto through = [&](int relay) { return std::min(hop(from_, relay).rate(), hop(relay, to_).rate()); };
  if (!network_.is(from_, DeviceKind::gpu) || !network_.is(to_, DeviceKind::gpu)) return;
  for (int first = 0; first < network_.devices(); ++first) {
    if (!gpu(first) || !own_link(hop(from_, first))) continue;
    for (int second = 0; second < network_.devices(); ++second) {
      if (second == first || !gpu(second) || !own_link(hop(second, to_)) || !hop(first, second).exists()) continue;
      const double rate = std::min({hop(from_, first).rate(), hop(first, second).rate(), hop(second, to_).rate()});
      if (through(first) >= rate || through(second) >= rate) continue;
      if (!returns({&hop(from_, first), &hop(first, second), &hop(second, to_)}))
        found_.push_back({{&hop(from_, first), &hop(first, second), &hop(second, to_)}, Method::engine});
    }
  }
}

// The measurement of this route; else one of a route of the same kind over hops as wide (5 %), which stands for it:
// not every pair of a symmetric machine needs to be measured.
const machine::StagedPath* Enumeration::measured(const std::vector<const Hop*>& hops, Method method) {
  if (hops.size() != 2) return nullptr;
  const auto alike = [](const Hop& a, const Hop& b) {
    return a.arcs.size() == b.arcs.size() && a.gbps > 0.95 * b.gbps && b.gbps > 0.95 * a.gbps;
  };
  for (const machine::StagedPath& staged : network_.machine().staged)
    if (staged.method == method && staged.from == network_.device(from_).id && staged.to == network_.device(to_).id &&
        staged.stage == network_.device(hops.front()->to).id && staged.rate_gbps.value > 0)
      return &staged;
  for (const machine::StagedPath& staged : network_.machine().staged) {
    const int from = network_.index(staged.from), stage = network_.index(staged.stage),
              to = network_.index(staged.to);
    if (staged.method != method || !(staged.rate_gbps.value > 0) || from < 0 || stage < 0 || to < 0) continue;
    const bool same_kinds = network_.device(from).kind == network_.device(from_).kind &&
                            network_.device(stage).kind == network_.device(hops.front()->to).kind &&
                            network_.device(to).kind == network_.device(to_).kind;
    if (same_kinds && alike(hop(from, stage), *hops[0]) && alike(hop(stage, to), *hops[1])) return &staged;
  }
  return nullptr;
}

Timing Enumeration::direct_timing(const Hop& hop, Source& source) const {
  if (hop.curve != nullptr) {
    source = Source::measured;
    return {fit(*hop.curve).startup_us, hop.curve_gbps, hop.curve, false, 0, 0, 1};
  }
  double latency = 0;
  for (const int a : hop.arcs) latency += network_.arcs()[a].latency_us;
  return {std::max(kDirectStartupUs, latency), hop.gbps, nullptr, false, 0, 0, 1};
}

Timing Enumeration::pipeline_timing(const std::vector<const Hop*>& hops, Method method, Source& source) {
  const double further = double(hops.size() - 1);
  std::vector<double> rates;
  rates.reserve(hops.size());
  for (const Hop* hop : hops) rates.push_back(hop->rate());
  std::ranges::sort(rates);
  double fill = 0;
  for (std::size_t i = 1; i < rates.size(); ++i) fill += 1 / (rates[i] * 1e3);
  const double kept = 1 - kPipelineLoss * rates[0] / rates[1];
  Timing timing{0, kept * rates[0], nullptr, true, fill, 0, 1};
  if (method == Method::engine) {
    timing.startup_us = kEngineStartupUs + kEngineHopUs * further;
    timing.round_us = kEngineChunkUs * further;
  } else {
    timing.startup_us = kKernelStartupUs;
    timing.round_us = kKernelRoundUs;
    timing.blocks = kKernelBlocks;
    timing.most_chunk = kKernelChunk;
  }
  if (const machine::StagedPath* staged = measured(hops, method)) {
    if (method == Method::sm && staged->blocks > 0) timing.blocks = staged->blocks;
    if (method == Method::sm && staged->chunk_bytes > 0) timing.most_chunk = staged->chunk_bytes;
    take_apart(timing, {staged->startup_us.value, staged->rate_gbps.value}, staged->chunk_bytes, timing.startup_us);
    source = std::max(staged->startup_us.source, staged->rate_gbps.source);
  } else if (const auto* other = measured(hops, method == Method::sm ? Method::engine : Method::sm)) {
    // A rate that is only assumed of one method must not beat the measured rate of the other over the same links.
    timing.gbps = std::min(timing.gbps, other->rate_gbps.value);
  }
  return timing;
}

PlannedRoute Enumeration::plan(const std::vector<const Hop*>& hops, Method method) {
  PlannedRoute planned;
  Candidate& candidate = planned.candidate;
  candidate.route.method = method;
  candidate.route.stops.push_back(network_.device(from_).id);
  for (const Hop* hop : hops) candidate.route.stops.push_back(network_.device(hop->to).id);
  planned.timing = hops.size() == 1 ? direct_timing(*hops.front(), candidate.source)
                                    : pipeline_timing(hops, method, candidate.source);
  return finish(std::move(planned), hops);
}

PlannedRoute Enumeration::finish(PlannedRoute planned, const std::vector<const Hop*>& hops) const {
  Candidate& candidate = planned.candidate;
  for (const Hop* hop : hops) merge(planned.flow.uses, network_.usage(*hop, candidate.route.method, false));
  for (const Usage& use : planned.flow.uses) candidate.links.push_back(network_.resource_name(use.resource));
  if (both_ways_)
    for (const Hop* hop : hops) merge(planned.flow.uses, network_.usage(*hop, candidate.route.method, true));

  planned.flow.cap = planned.timing.gbps;
  const Flow* const flow = &planned.flow;
  candidate.rate_gbps = network_.rates(std::array{flow}).front();
  const Overhead cost = overhead(planned.timing, double(bytes_));
  candidate.startup_us = cost.us;
  candidate.chunk_bytes = cost.chunk_bytes;
  candidate.blocks = planned.timing.chunked && candidate.route.method == Method::sm ? planned.timing.blocks : 0;
  return planned;
}

Result<int> memory(const machine::Machine& machine, const std::string& id) {
  const machine::Device* device = machine.find(id);
  std::string known;
  for (const machine::Device& other : machine.devices)
    if (other.kind == DeviceKind::gpu || other.kind == DeviceKind::host)
      known += (known.empty() ? "" : ", ") + other.id;
  if (device == nullptr)
    return Status(Code::not_found, fmt::format("no device '{}' in machine '{}'", id, machine.name), {},
                  known.empty() ? "This machine has no memories" : "Its memories are " + known);
  if (device->kind != DeviceKind::gpu && device->kind != DeviceKind::host)
    return Status(Code::invalid_argument, fmt::format("'{}' is a {}, which holds no bytes", id, name(device->kind)),
                  "machine '" + machine.name + "'", "Its memories are " + known);
  return int(device - machine.devices.data());
}

}  // namespace

Result<Routes> enumerate(const machine::Machine& machine, const std::string& from, const std::string& to,
                         std::uint64_t bytes, bool both_ways) {
  const Result<int> source = memory(machine, from);
  if (!source) return source.status();
  const Result<int> destination = memory(machine, to);
  if (!destination) return destination.status();
  Routes routes{Network(machine), *source, *destination, {}};
  routes.routes = Enumeration(routes.network, *source, *destination, bytes, both_ways).run();
  if (!routes.routes.empty()) return routes;
  return Status(Code::unsupported, fmt::format("no links lead from {} to {}", from, to),
                "machine '" + machine.name + "'", "Measure this machine again, or add the missing links to its file");
}

Result<std::vector<Candidate>> candidates(const machine::Machine& machine, const std::string& from,
                                          const std::string& to, std::uint64_t bytes) {
  Result<Routes> routes = enumerate(machine, from, to, bytes, false);
  if (!routes) return std::move(routes).status();
  std::vector<Candidate> result;
  for (PlannedRoute& route : routes->routes) result.push_back(std::move(route.candidate));
  return result;
}

}  // namespace sennit::path
