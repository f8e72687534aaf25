// The assignment problem: ranks with traffic, slots with costs between them, and which resources each pair of slots
// takes. Everything that solves it knows no machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "place/device_graph.h"
#include "place/traffic.h"

namespace sennit::place {

/// Where ranks can go: GPUs of nodes that are alike, each with room for several ranks.
struct Slots {
  int nodes = 1, gpus = 1, per_gpu = 1;

  int size() const { return nodes * gpus * per_gpu; }
  int a_node() const { return gpus * per_gpu; }
  /// Slots are numbered node by node, in a node GPU by GPU for the first rank of each, then for the second, …: so
  /// that rank r on slot r is what a launcher does that fills a node, with GPU = local rank modulo GPUs.
  int node(int slot) const { return slot / a_node(); }
  int gpu(int slot) const { return slot % a_node() % gpus; }
};

/// What a byte takes from one node to another.
struct Between {
  Between(const DeviceGraph& graph, Metric metric);

  double cost = 1;         ///< more than between any two GPUs of a node: to a NIC, and on from another one's
  double us_per_byte = 0;  ///< of all NICs of a node; of one of 400 Gb/s where the machine's file names none
};

/// A rank that has to stay where somebody put it.
struct Pin {
  int rank = 0, slot = 0;
};

/// Two ranks' traffic with each other.
struct Partner {
  int rank = 0;
  double to = 0, from = 0;  ///< bytes to that rank, and from it
};

/// A map: the slot of each rank, all different.
using Map = std::vector<int>;

/// What a map costs: the most loaded resource first, then the sum over bytes of what each pair of slots costs. A
/// problem without resources knows the sum alone.
struct Cost {
  double heaviest_us = 0;
  double sum = 0;

  bool operator==(const Cost&) const = default;
};

/// Whether `a` is less than `b` by more than arithmetic may be off (1 part in 10^9): ties break alike everywhere.
bool less(double a, double b);
bool less(const Cost& a, const Cost& b);

/// Slots are as many as ranks, or more; the empty ones count as ranks without traffic, so that a map is always a
/// permutation: those behind `ranks` are made up.
class Problem {
 public:
  /// Of costs alone: `cost` has slots × slots entries, 0 on the diagonal.
  Problem(const Traffic& traffic, int slots, std::vector<double> cost);
  /// Of a metric on a machine; with contention the resources too. Of nodes, as many as `slots` says. Errors:
  /// invalid_argument (more ranks than slots; a rank or a slot pinned twice, or out of range).
  static Result<Problem> create(const Traffic& traffic, const DeviceGraph& graph, const Slots& slots, Metric metric,
                                std::span<const Pin> pins = {});

  int ranks() const { return ranks_; }
  int slots() const { return slots_; }
  std::span<const Partner> partners(int rank) const { return partners_[std::size_t(rank)]; }
  double cost(int a, int b) const { return cost_[std::size_t(a) * std::size_t(slots_) + std::size_t(b)]; }
  /// What bytes from rank to rank cost on two slots, both directions together.
  double pair_cost(const Partner& partner, int here, int there) const {
    return partner.to * cost(here, there) + partner.from * cost(there, here);
  }
  bool has_resources() const { return !uses_.empty(); }
  std::span<const Use> uses(int a, int b) const {
    return uses_[std::size_t(a) * std::size_t(slots_) + std::size_t(b)];
  }
  int resources() const { return resources_; }
  /// The slot of a rank that is pinned; -1.
  int pinned(int rank) const { return pinned_[std::size_t(rank)]; }
  bool is_pinned() const { return any_pinned_; }

  /// Rank r on slot r, but for those that are pinned.
  Map identity() const;
  /// Of all slots' ranks, those made up included.
  Cost cost_of(std::span<const int> map) const;
  /// µs of each resource.
  std::vector<double> loads(std::span<const int> map) const;

 private:
  void add_resources(const DeviceGraph& graph, const Slots& slots);
  Status pin(std::span<const Pin> pins);

  int ranks_ = 0, slots_ = 0, resources_ = 0;
  std::vector<std::vector<Partner>> partners_;
  std::vector<double> cost_;
  std::vector<std::vector<Use>> uses_;
  std::vector<int> pinned_;
  bool any_pinned_ = false;
};

/// Adds what traffic between two slots takes of the resources; `sign` -1 takes it away.
inline void add_load(const Problem& problem, double bytes, int from, int to, double sign, std::span<double> loads) {
  if (bytes <= 0) return;
  for (const Use& use : problem.uses(from, to)) loads[std::size_t(use.resource)] += sign * bytes * use.us_per_byte;
}

}  // namespace sennit::place
