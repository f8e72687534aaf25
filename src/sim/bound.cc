#include "sim/bound.h"

#include <algorithm>

#include "path/flow_graph.h"
#include "sim/fluid.h"

namespace sennit::sim {

using coll::Operation;
using path::Edge;
using path::FlowGraph;

namespace {

class Cuts {
 public:
  Cuts(const machine::Machine& machine, const std::vector<std::string>& gpus, bool both_ways)
      : network_(machine), graph_(path::flow_graph(network_, both_ways)) {
    for (const std::string& gpu : gpus) gpus_.push_back(network_.index(gpu));
  }

  /// Links the other way round: what is true of spreading is then true of gathering.
  void reverse() {
    for (Edge& each : graph_.edges) std::swap(each.from, each.to);
    reversed_ = !reversed_;
  }

  /// The least that flows from one rank to another one.
  double spread(int root) const {
    double least = path::kUnlimited;
    for (std::size_t v = 0; v < gpus_.size(); ++v)
      if (static_cast<int>(v) != root)
        least = std::min(least, flow({{root, path::kUnlimited}}, {static_cast<int>(v)}));
    return least;
  }

  /// What flows from one rank to one other, as if it were alone.
  double reach(int from, int to) const { return flow({{from, path::kUnlimited}}, {to}); }

  /// What flows from one rank to all others together.
  double leave(int root) const {
    std::vector<int> others;
    for (int v = 0; v < static_cast<int>(gpus_.size()); ++v)
      if (v != root) others.push_back(v);
    return flow({{root, path::kUnlimited}}, others);
  }

  /// The largest rate at which every rank can send to all, by halving.
  double spread_all() const {
    const auto ranks = static_cast<double>(gpus_.size());
    double low = 0, high = path::kUnlimited;
    for (int v = 0; v < static_cast<int>(gpus_.size()); ++v) {
      // A rank has its own: what must come is the others'.
      std::vector<std::pair<int, double>> sources;
      for (int u = 0; u < static_cast<int>(gpus_.size()); ++u)
        if (u != v) sources.emplace_back(u, path::kUnlimited);
      high = std::min(high, flow(sources, {v}) / (ranks - 1));
    }
    if (all_reach(high)) return high;
    constexpr int kHalvings = 40;
    for (int i = 0; i < kHalvings; ++i) {
      const double rate = (low + high) / 2;
      (all_reach(rate) ? low : high) = rate;
    }
    return low;
  }

 private:
  bool all_reach(double rate) const {
    const auto ranks = static_cast<int>(gpus_.size());
    for (int v = 0; v < ranks; ++v) {
      std::vector<std::pair<int, double>> sources;
      for (int u = 0; u < ranks; ++u)
        if (u != v) sources.emplace_back(u, rate);
      if (flow(sources, {v}) < (ranks - 1) * rate * (1 - 1e-9)) return false;
    }
    return true;
  }

  double flow(const std::vector<std::pair<int, double>>& sources, const std::vector<int>& sinks) const {
    std::vector<Edge> edges = graph_.edges;
    const int source = graph_.nodes, sink = graph_.nodes + 1;
    const auto out = [&](int rank) {
      const int device = gpus_[static_cast<std::size_t>(rank)];
      return reversed_ ? FlowGraph::arrive(device) : FlowGraph::leave(device);
    };
    const auto in = [&](int rank) {
      const int device = gpus_[static_cast<std::size_t>(rank)];
      return reversed_ ? FlowGraph::leave(device) : FlowGraph::arrive(device);
    };
    for (const auto& [rank, most] : sources) edges.push_back({source, out(rank), most});
    for (const int rank : sinks) edges.push_back({in(rank), sink, path::kUnlimited});
    return path::max_flow(graph_.nodes + 2, edges, source, sink);
  }

  path::Network network_;
  FlowGraph graph_;
  std::vector<int> gpus_;
  bool reversed_ = false;
};

}  // namespace

std::optional<double> bound_us(const machine::Machine& machine, const std::vector<std::string>& gpus,
                               Operation operation, double bytes, int root) {
  // All ranks send and take at the same time, but for what has a root.
  Cuts cuts(machine, gpus, !coll::has_root(operation));
  const auto ranks = static_cast<double>(gpus.size());
  double rate = 0, work = bytes;
  switch (operation) {
    case Operation::reduce: cuts.reverse(); [[fallthrough]];
    case Operation::broadcast: rate = cuts.spread(root); break;
    case Operation::reduce_scatter: cuts.reverse(); [[fallthrough]];
    case Operation::allgather: rate = cuts.spread_all(); break;
    case Operation::allreduce: {
      const double there = cuts.spread_all();
      cuts.reverse();
      const double back = cuts.spread_all();
      rate = there > 0 && back > 0 ? 1 / (1 / there + 1 / back) : 0;
      work = bytes / ranks;
      break;
    }
    case Operation::gather: cuts.reverse(); [[fallthrough]];
    case Operation::scatter:
      rate = cuts.leave(root);
      work = bytes * (ranks - 1);
      break;
    case Operation::all_to_all:
    case Operation::all_to_all_v: {
      rate = path::kUnlimited;
      for (int v = 0; v < static_cast<int>(gpus.size()); ++v) rate = std::min(rate, cuts.leave(v));
      cuts.reverse();
      for (int v = 0; v < static_cast<int>(gpus.size()); ++v) rate = std::min(rate, cuts.leave(v));
      work = bytes * (ranks - 1);
      break;
    }
    case Operation::sendrecv: {
      const auto all = static_cast<int>(gpus.size());
      rate = path::kUnlimited;
      for (int v = 0; v < all; ++v) rate = std::min(rate, cuts.reach(v, (v + 1) % all));
      break;
    }
    case Operation::barrier: return std::nullopt;
  }
  if (!(rate > 0) || rate == path::kUnlimited) return std::nullopt;
  return work / (rate * kPerGbps);
}

}  // namespace sennit::sim
