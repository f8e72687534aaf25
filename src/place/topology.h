// Which process should stand for which rank of a topology of MPI: what `reorder` of MPI_Cart_create and its like asks
// for. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "place/traffic.h"

namespace sennit::place {

/// Where a process of a job is.
struct Process {
  std::string node;  ///< any name that no other node has
  std::string gpu;   ///< its id, UUID or PCI address; empty: the one of its local rank
  int local = 0;     ///< rank on its node

  bool operator==(const Process&) const = default;
};

/// A message to either neighbour in each dimension. Ranks are numbered as MPI numbers them, the last dimension
/// fastest. `wraps`: of each dimension. No value: no extents, or of more than `processes` ranks.
std::optional<Traffic> traffic_of_cart(std::span<const int> extents, std::span<const int> wraps, int processes);

/// A message along each edge of MPI_Graph_create's arrays. `index`: where the edges of each rank end. No value:
/// arrays that are none.
std::optional<Traffic> traffic_of_graph(std::span<const int> index, std::span<const int> edges, int processes);

/// Limit: of more processes the search would take seconds.
inline constexpr int kMostReordered = 1024;

struct Order {
  std::vector<int> process;      ///< of each rank
  double before = 0, after = 0;  ///< bytes × links, as it is and in this order
};

/// Finds an order in which less goes far: between nodes, and on a node by the links of its GPUs, where `machine` (of
/// one node, all are taken to be like it; may be null) has some. `traffic` is of as many ranks as there are
/// processes. No value: none is better than the order as it is.
std::optional<Order> reorder(const Traffic& traffic, std::span<const Process> processes,
                             const machine::Machine* machine);

}  // namespace sennit::place
