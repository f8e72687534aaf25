#include "shim/mpi/comm/nodes.h"

#include <algorithm>

namespace sennit::shim::mpi {

Nodes nodes_of(std::span<const int> world_ranks, std::span<const int> leaders, int rank) {
  Nodes nodes;
  std::vector<int> names, sizes;  // by node
  for (std::size_t i = 0; i < leaders.size(); ++i) {
    const auto found = std::ranges::find(names, leaders[i]);
    const auto node = static_cast<std::size_t>(found - names.begin());
    if (found == names.end()) {
      names.push_back(leaders[i]);
      sizes.push_back(0);
      nodes.speakers.push_back(world_ranks[i]);
    }
    nodes.places.push_back({static_cast<int>(node), sizes[node]++});
  }
  nodes.count = static_cast<int>(names.size());
  nodes.own = nodes.place(rank).node;
  nodes.alike = std::ranges::all_of(sizes, [&](int size) { return size == sizes.front(); });
  return nodes;
}

}  // namespace sennit::shim::mpi
