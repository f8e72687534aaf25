#include "place/topology.h"

#include <algorithm>
#include <utility>

#include "place/search.h"

namespace sennit::place {

namespace {

constexpr int kNone = -1;

/// The GPU of each process, as a number in the machine's document; kNone where it is not known.
std::vector<int> gpus_of(std::span<const Process> processes, const path::Network& network) {
  const std::vector<int> all = network.gpus();
  std::vector<int> gpus;
  for (const Process& each : processes) {
    int gpu = kNone;
    if (const auto* const found = each.gpu.empty() ? nullptr : network.machine().find(each.gpu))
      gpu = int(found - network.machine().devices.data());
    else if (each.gpu.empty() && each.local >= 0 && !all.empty())
      gpu = all[std::size_t(each.local) % all.size()];
    gpus.push_back(gpu >= 0 && network.is(gpu, machine::DeviceKind::gpu) ? gpu : kNone);
  }
  return gpus;
}

/// What a byte costs between each two processes: links between GPUs of a node, and more than any of these between
/// nodes. Of GPUs that are not known, or that nothing joins, all are as near.
std::vector<double> costs_of(std::span<const Process> processes, const machine::Machine* machine) {
  constexpr double kNear = 1;
  const std::size_t n = processes.size();
  std::vector<double> costs(n * n, 0);
  const machine::Machine none;
  const path::Network network(machine != nullptr ? *machine : none);  // which refers to it
  const std::vector<int> gpus = gpus_of(processes, network);
  std::vector<int> used(gpus);
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::erase(used, kNone);
  const auto graph = DeviceGraph::create(network, used);
  const bool known = !used.empty() && graph && std::ranges::find(gpus, kNone) == gpus.end();
  const auto place = [&](std::size_t process) { return int(std::ranges::find(used, gpus[process]) - used.begin()); };
  const double far = known ? cost_between_nodes(*graph, Metric::contention) : 2 * kNear + 1;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      double& cost = costs[a * n + b];
      if (a == b) continue;
      if (processes[a].node != processes[b].node)
        cost = far;
      else
        cost = known ? graph->cost(Metric::contention, place(a), place(b)) : kNear;
    }
  return costs;
}

}  // namespace

std::optional<Traffic> traffic_of_cart(std::span<const int> extents, std::span<const int> wraps, int processes) {
  std::int64_t ranks = 1;
  for (const int extent : extents) {
    if (extent < 1) return std::nullopt;
    ranks *= extent;
    if (ranks > processes) return std::nullopt;
  }
  Traffic traffic(processes);
  for (int rank = 0; rank < int(ranks); ++rank) {
    int stride = 1;
    for (std::size_t d = extents.size(); d-- > 0; stride *= extents[d]) {
      const int extent = extents[d], at = rank / stride % extent;
      for (const int step : {-1, 1}) {
        const int other = wraps[d] != 0 ? (at + step + extent) % extent : at + step;
        if (other >= 0 && other < extent && other != at) traffic.add(rank, rank + (other - at) * stride, 1);
      }
    }
  }
  return traffic;
}

std::optional<Traffic> traffic_of_graph(std::span<const int> index, std::span<const int> edges, int processes) {
  if (index.empty() || int(index.size()) > processes) return std::nullopt;
  Traffic traffic(processes);
  int from = 0;
  for (std::size_t rank = 0; rank < index.size(); ++rank) {
    if (index[rank] < from || index[rank] > int(edges.size())) return std::nullopt;
    for (; from < index[rank]; ++from) {
      const int to = edges[std::size_t(from)];
      if (to < 0 || to >= int(index.size())) return std::nullopt;
      traffic.add(int(rank), to, 1);
    }
  }
  return traffic;
}

std::optional<Order> reorder(const Traffic& traffic, std::span<const Process> processes,
                             const machine::Machine* machine) {
  const auto n = int(processes.size());
  if (n < 3 || n > kMostReordered || traffic.ranks() != n || traffic.talks().empty()) return std::nullopt;
  const Problem problem(traffic, n, costs_of(processes, machine));
  Best best;
  search(problem, {}, best);
  const Cost before = problem.cost_of(problem.identity());
  if (best.empty() || !less(best.first().cost.sum, before.sum)) return std::nullopt;
  return Order{best.first().map, before.sum, best.first().cost.sum};
}

}  // namespace sennit::place
