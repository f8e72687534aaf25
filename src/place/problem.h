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

/// What a byte costs from one node to another: more than between any two GPUs of a node, since it goes to a NIC, and
/// on from another one's.
double cost_between_nodes(const DeviceGraph& graph, Metric metric);

/// What a byte takes of a resource of some node: of those of the machine's network as sim::Fabric has them, or of two
/// more a node, for what leaves it and what arrives there from GPUs that reach no NIC. Those stand for one of
/// 400 Gb/s.
struct Taken {
  int resource = 0;
  double us_per_byte = 0;
};

/// The resources of all nodes.
class NodeLinks {
 public:
  NodeLinks(const DeviceGraph& graph, const Slots& slots)
      : graph_(&graph), slots_(slots), each_(int(graph.network().capacity().size()) + 2) {}
  int count() const { return slots_.nodes * each_; }
  /// Hands on what a byte from slot to slot takes, resource by resource; nothing within a GPU.
  template <class Take>
  void each(int from, int to, const Take& take) const {
    const int a = slots_.gpu(from), b = slots_.gpu(to), here = slots_.node(from), there = slots_.node(to);
    const auto take_all = [&](const std::vector<Use>& uses, int node, int instead) {
      for (const Use& use : uses) take(Taken{node * each_ + use.resource, use.us_per_byte});
      if (uses.empty()) take(Taken{(node + 1) * each_ - instead, kNoNicUsPerByte});
    };
    if (here != there) {
      take_all(graph_->uses_out(a), here, 2);
      take_all(graph_->uses_in(b), there, 1);
    } else if (a != b) {
      take_all(graph_->uses(a, b), here, 1);
    }
  }

 private:
  static constexpr double kNoNicUsPerByte = 1 / 50e3;  // default: of one of 400 Gb/s
  const DeviceGraph* graph_;
  Slots slots_;
  int each_;
};

/// A rank that has to stay where somebody put it: on one slot, or on any of those of its socket.
struct Pin {
  int rank = 0;
  std::vector<int> slots;
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
  /// invalid_argument (more ranks than slots; those of pin()).
  static Result<Problem> create(const Traffic& traffic, const DeviceGraph& graph, const Slots& slots, Metric metric,
                                std::span<const Pin> pins = {});

  /// Lets these ranks go nowhere but to their slots. Errors: invalid_argument (a rank pinned twice, a rank or a slot
  /// that there is not, a rank for which the others leave no room; names the rank).
  Status pin(std::span<const Pin> pins);

  int ranks() const { return ranks_; }
  int slots() const { return slots_; }
  std::span<const Partner> partners(int rank) const { return partners_[std::size_t(rank)]; }
  double cost(int a, int b) const { return cost_[std::size_t(a) * std::size_t(slots_) + std::size_t(b)]; }
  /// What bytes from rank to rank cost on two slots, both directions together.
  double pair_cost(const Partner& partner, int here, int there) const {
    return partner.to * cost(here, there) + partner.from * cost(there, here);
  }
  /// Resources have numbers of their own here: those that no pair takes are left out, and of those that the same
  /// pairs take one stands for all, the one that a byte takes most of.
  bool has_resources() const { return !first_use_.empty(); }
  std::span<const Taken> uses(int a, int b) const {
    const std::size_t pair = std::size_t(a) * std::size_t(slots_) + std::size_t(b);
    return std::span(uses_).subspan(first_use_[pair], first_use_[pair + 1] - first_use_[pair]);
  }
  int resources() const { return resources_; }
  /// Slots are numbered node by node, so many a node.
  int slots_of_node() const { return a_node_; }
  /// Whether a rank may go to a slot.
  bool allows(int rank, int slot) const {
    return allowed_.empty() || allowed_[std::size_t(rank) * std::size_t(slots_) + std::size_t(slot)] != 0;
  }
  bool is_pinned() const { return !allowed_.empty(); }
  /// Whether there is one slot alone to which a rank may go.
  bool is_fixed(int rank) const;

  /// Rank r on slot r, but for those that may not be there and those that they displace.
  Map identity() const;
  /// Each rank on the slot that it wants, as far as it may be there and nobody else has to; -1 of one that has no
  /// room. `wanted`: of slots() ranks, each once; -1: any.
  Map fitted(std::span<const int> wanted) const;
  /// Of all slots' ranks, those made up included.
  Cost cost_of(std::span<const int> map) const;
  /// µs of each resource.
  std::vector<double> loads(std::span<const int> map) const;

 private:
  void add_resources(const DeviceGraph& graph, const Slots& slots);

  int ranks_ = 0, slots_ = 0, a_node_ = 1, resources_ = 0;
  std::vector<std::vector<Partner>> partners_;
  std::vector<double> cost_;
  std::vector<std::size_t> first_use_;  // of each pair of slots, among:
  std::vector<Taken> uses_;
  std::vector<char> allowed_;  // of rank × slot; empty: everything
};

/// Adds what traffic between two slots takes of the resources; `sign` -1 takes it away.
inline void add_load(const Problem& problem, double bytes, int from, int to, double sign, std::span<double> loads) {
  if (bytes <= 0) return;
  for (const Taken& use : problem.uses(from, to)) loads[std::size_t(use.resource)] += sign * bytes * use.us_per_byte;
}

}  // namespace sennit::place
