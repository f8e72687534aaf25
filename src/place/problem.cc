#include "place/problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace sennit::place {

bool less(double a, double b) {
  return a < b - 1e-9 * (std::abs(a) + std::abs(b));
}

bool less(const Cost& a, const Cost& b) {
  if (less(a.heaviest_us, b.heaviest_us)) return true;
  return !less(b.heaviest_us, a.heaviest_us) && less(a.sum, b.sum);
}

Between::Between(const DeviceGraph& graph, Metric metric) {
  double furthest = 1, gbps = 0;
  for (int a = 0; a < graph.gpus(); ++a)
    for (int b = 0; b < graph.gpus(); ++b) furthest = std::max(furthest, graph.cost(metric, a, b));
  cost = 2 * furthest + 1;
  const path::Network& network = graph.network();
  for (const path::Arc& arc : network.arcs())
    if (arc.from >= 0 && arc.to >= 0 && network.is(arc.to, machine::DeviceKind::nic)) gbps += arc.gbps;
  us_per_byte = 1 / ((gbps > 0 ? gbps : 50) * 1e3);
}

Problem::Problem(const Traffic& traffic, int slots, std::vector<double> cost)
    : ranks_(traffic.ranks()),
      slots_(slots),
      partners_(std::size_t(slots)),
      cost_(std::move(cost)),
      pinned_(std::size_t(slots), -1) {
  // A list a rank, each partner once, in the order of their numbers.
  struct Directed {
    int rank, partner;
    double to, from;
  };
  std::vector<Directed> all;
  for (const Talk& talk : traffic.talks()) {
    all.push_back({talk.from, talk.to, talk.bytes, 0});
    all.push_back({talk.to, talk.from, 0, talk.bytes});
  }
  std::ranges::stable_sort(all, {}, [](const Directed& each) { return std::pair(each.rank, each.partner); });
  for (const Directed& each : all) {
    std::vector<Partner>& of = partners_[std::size_t(each.rank)];
    if (of.empty() || of.back().rank != each.partner) of.push_back({each.partner, 0, 0});
    of.back().to += each.to;
    of.back().from += each.from;
  }
}

Result<Problem> Problem::create(const Traffic& traffic, const DeviceGraph& graph, const Slots& slots, Metric metric,
                                std::span<const Pin> pins) {
  if (traffic.ranks() > slots.size())
    return Status(Code::invalid_argument,
                  fmt::format("{} ranks, and room for {}: {} node{} of {} GPUs, {} rank{} a GPU", traffic.ranks(),
                              slots.size(), slots.nodes, slots.nodes == 1 ? "" : "s", slots.gpus, slots.per_gpu,
                              slots.per_gpu == 1 ? "" : "s"),
                  {}, "Give more nodes (--nodes) or more ranks a GPU (--ranks-per-gpu)");
  const int n = slots.size();
  const Between between(graph, metric);
  std::vector<double> cost(std::size_t(n) * std::size_t(n), 0);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      cost[std::size_t(a) * std::size_t(n) + std::size_t(b)] =
          slots.node(a) != slots.node(b) ? between.cost : graph.cost(metric, slots.gpu(a), slots.gpu(b));
  Problem problem(traffic, n, std::move(cost));
  if (metric == Metric::contention) problem.add_resources(graph, slots);
  if (auto status = problem.pin(pins); !status) return status;
  return problem;
}

/// Those of the network for each node, and two for what leaves a node and what arrives there.
void Problem::add_resources(const DeviceGraph& graph, const Slots& slots) {
  const path::Network& network = graph.network();
  const int each = int(network.capacity().size());
  const double us_per_byte = Between(graph, Metric::contention).us_per_byte;
  resources_ = slots.nodes * (each + 2);
  uses_.resize(std::size_t(slots_) * std::size_t(slots_));
  for (int a = 0; a < slots_; ++a)
    for (int b = 0; b < slots_; ++b) {
      std::vector<Use>& uses = uses_[std::size_t(a) * std::size_t(slots_) + std::size_t(b)];
      const int from = slots.node(a) * (each + 2), to = slots.node(b) * (each + 2);
      if (from != to) {
        uses.push_back({from + each, 1, us_per_byte});
        uses.push_back({to + each + 1, 1, us_per_byte});
      } else if (slots.gpu(a) != slots.gpu(b)) {
        uses = graph.uses(slots.gpu(a), slots.gpu(b));
        for (Use& use : uses) use.resource += from;
      }
    }
}

Status Problem::pin(std::span<const Pin> pins) {
  std::vector<char> taken(std::size_t(slots_), 0);
  for (const Pin& each : pins) {
    if (each.rank < 0 || each.rank >= ranks_ || each.slot < 0 || each.slot >= slots_)
      return Status(Code::invalid_argument,
                    fmt::format("rank {} cannot stay on slot {}: there are {} ranks and {} slots", each.rank,
                                each.slot, ranks_, slots_),
                    {}, "Name a rank of the job and a GPU of the machine");
    if (pinned_[std::size_t(each.rank)] >= 0 || taken[std::size_t(each.slot)])
      return Status(Code::invalid_argument,
                    taken[std::size_t(each.slot)] ? fmt::format("two ranks are pinned to slot {}", each.slot)
                                                  : fmt::format("rank {} is pinned twice", each.rank),
                    {}, "Pin each rank once, and as many to a GPU as have room there");
    pinned_[std::size_t(each.rank)] = each.slot;
    taken[std::size_t(each.slot)] = 1;
    any_pinned_ = true;
  }
  return {};
}

Map Problem::identity() const {
  Map map(std::size_t(slots_), 0);
  std::iota(map.begin(), map.end(), 0);
  // A pinned rank changes places with whoever is there.
  for (int rank = 0; rank < ranks_; ++rank)
    if (const int slot = pinned_[std::size_t(rank)]; slot >= 0 && map[std::size_t(rank)] != slot)
      std::swap(map[std::size_t(rank)], *std::ranges::find(map, slot));
  return map;
}

std::vector<double> Problem::loads(std::span<const int> map) const {
  std::vector<double> all(std::size_t(resources_), 0);
  if (!has_resources()) return all;
  for (int rank = 0; rank < ranks_; ++rank)
    for (const Partner& partner : partners(rank))
      add_load(*this, partner.to, map[std::size_t(rank)], map[std::size_t(partner.rank)], 1, all);
  return all;
}

Cost Problem::cost_of(std::span<const int> map) const {
  Cost found;
  for (int rank = 0; rank < ranks_; ++rank)
    for (const Partner& partner : partners(rank))
      found.sum += partner.to * cost(map[std::size_t(rank)], map[std::size_t(partner.rank)]);
  for (const double us : loads(map)) found.heaviest_us = std::max(found.heaviest_us, us);
  return found;
}

}  // namespace sennit::place
