#include "path/flow.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sennit::path {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Capacity left that counts as none: sums of a few dozen rates lose no more than this to rounding.
constexpr double kFull = 1e-9;

}  // namespace

std::vector<double> fair_rates(std::span<const double> capacity, std::span<const Flow* const> flows) {
  std::vector<double> rate(flows.size(), 0);
  std::vector<double> left(capacity.begin(), capacity.end());
  std::vector<double> demand(capacity.size(), 0);
  std::vector<bool> rising(flows.size(), true);
  for (std::size_t active = flows.size(); active > 0;) {
    std::fill(demand.begin(), demand.end(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (rising[f])
        for (const Usage& use : flows[f]->uses) demand[use.resource] += flows[f]->weight * use.weight;

    double step = kInfinity;
    for (std::size_t r = 0; r < left.size(); ++r)
      if (demand[r] > 0) step = std::min(step, std::max(left[r], 0.0) / demand[r]);
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (rising[f]) step = std::min(step, (flows[f]->cap - rate[f]) / flows[f]->weight);
    step = std::max(step, 0.0);
    if (std::isinf(step)) {  // unlimited flows over unlimited resources
      for (std::size_t f = 0; f < flows.size(); ++f)
        if (rising[f]) rate[f] = kInfinity;
      break;
    }

    for (std::size_t r = 0; r < left.size(); ++r) left[r] -= step * demand[r];
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (!rising[f]) continue;
      rate[f] += step * flows[f]->weight;
      bool stops = rate[f] >= flows[f]->cap * (1 - kFull);
      for (const Usage& use : flows[f]->uses) stops = stops || left[use.resource] <= kFull * capacity[use.resource];
      if (!stops) continue;
      rising[f] = false;
      --active;
    }
  }
  return rate;
}

double max_flow(int nodes, std::span<const Edge> edges, int source, int sink) {
  // Residual edges in pairs: 2i as given, 2i + 1 its reverse.
  std::vector<double> left(edges.size() * 2, 0);
  std::vector<std::vector<int>> out(nodes);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    left[2 * i] = std::max(edges[i].capacity, 0.0);
    out[edges[i].from].push_back(int(2 * i));
    out[edges[i].to].push_back(int(2 * i + 1));
  }
  const auto head = [&](int e) { return e % 2 == 0 ? edges[e / 2].to : edges[e / 2].from; };
  const auto tail = [&](int e) { return e % 2 == 0 ? edges[e / 2].from : edges[e / 2].to; };

  double total = 0;
  std::vector<int> arrived_by(nodes), queue;
  while (source != sink) {
    std::fill(arrived_by.begin(), arrived_by.end(), -1);
    queue.assign(1, source);
    for (std::size_t next = 0; next < queue.size() && arrived_by[sink] < 0; ++next)
      for (const int e : out[queue[next]])
        if (left[e] > kFull && arrived_by[head(e)] < 0 && head(e) != source) {
          arrived_by[head(e)] = e;
          queue.push_back(head(e));
        }
    if (arrived_by[sink] < 0) return total;
    double step = kInfinity;
    for (int node = sink; node != source; node = tail(arrived_by[node]))
      step = std::min(step, left[arrived_by[node]]);
    if (std::isinf(step)) return kInfinity;
    for (int node = sink; node != source; node = tail(arrived_by[node])) {
      left[arrived_by[node]] -= step;
      left[arrived_by[node] ^ 1] += step;
    }
    total += step;
  }
  return kInfinity;
}

}  // namespace sennit::path
