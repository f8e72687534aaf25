// Divides capacity that several flows want at once: fair rates over shared resources, and the most a graph can carry.
// It is pure arithmetic on small arrays; what a resource is (a link's direction, a memory's limit) is the caller's.
#pragma once

#include <span>
#include <vector>

namespace sennit::path {

/// Says what one flow takes of one resource: `weight` units of its capacity for each unit of rate. A route that
/// crosses a link twice uses it with weight 2; a copy engine, whose capacity is time, is used with 1 / (rate of the
/// copy).
struct Usage {
  int resource = 0;
  double weight = 1;
};

/// Something that moves bytes at a rate, up to `cap`, over the resources it uses.
struct Flow {
  std::vector<Usage> uses;  ///< each resource at most once, weights positive
  double cap = 0;           ///< its own limit, with the resources idle
  double weight = 1;        ///< its part where a resource is contended, relative to the other flows there
};

/// Weighted max-min fair rates by progressive filling: all rates rise together, in proportion to their weights,
/// and a flow stops where a resource it uses is full or its own cap is reached. So no resource is above its
/// capacity, and no rate could rise without lowering one that is not larger. Order of the result: as `flows`.
std::vector<double> fair_rates(std::span<const double> capacity, std::span<const Flow* const> flows);

/// A directed edge of a flow network.
struct Edge {
  int from = 0, to = 0;
  double capacity = 0;  ///< same unit as the result; infinity is allowed
};

/// Computes the maximum flow from `source` to `sink` (shortest augmenting paths), infinity where an unlimited path
/// exists.
double max_flow(int nodes, std::span<const Edge> edges, int source, int sink);

}  // namespace sennit::path
