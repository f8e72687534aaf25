#include "shim/nccl/layout.h"

#include <algorithm>

namespace sennit::shim::nccl {

Result<Layout> layout_of(std::span<const std::vector<int>> seen, int rank) {
  const auto size = static_cast<int>(seen.size());
  Layout layout;
  layout.ranks = seen.empty() ? 0 : static_cast<int>(seen.front().size());
  layout.nodes = 0;
  for (int each = 0; each < size; ++each) {
    const std::vector<int>& node = seen[static_cast<std::size_t>(each)];
    const bool agreed = std::ranges::find(node, each) != node.end() && std::ranges::all_of(node, [&](int other) {
                          return other >= 0 && other < size && seen[static_cast<std::size_t>(other)] == node;
                        });
    if (!agreed) return Status(Code::unsupported, "ranks of a node do not all reach each other");
    if (static_cast<int>(node.size()) != layout.ranks)
      return Status(Code::unsupported, "its nodes do not have as many ranks each");
    if (node.front() != each) continue;
    if (node == seen[static_cast<std::size_t>(rank)]) layout.node = layout.nodes;
    ++layout.nodes;
  }
  const std::vector<int>& own = seen[static_cast<std::size_t>(rank)];
  layout.place = static_cast<int>(std::ranges::find(own, rank) - own.begin());
  return layout;
}

}  // namespace sennit::shim::nccl
