#include "shim/nccl/layout.h"

#include <gtest/gtest.h>

namespace sennit::shim::nccl {
namespace {

using Seen = std::vector<std::vector<int>>;

TEST(Layout, RanksOfANodeAscendAndNodesGoByTheirLowestRank) {
  const Seen seen{{0, 3}, {1, 2}, {1, 2}, {0, 3}};
  const int nodes[] = {0, 1, 1, 0}, places[] = {0, 0, 1, 1};
  for (int rank = 0; rank < 4; ++rank) {
    const auto layout = layout_of(seen, rank);
    ASSERT_TRUE(layout.ok()) << layout.status().text();
    EXPECT_EQ(layout->nodes, 2);
    EXPECT_EQ(layout->ranks, 2);
    EXPECT_EQ(layout->node, nodes[rank]);
    EXPECT_EQ(layout->place, places[rank]);
  }
}

TEST(Layout, ThreeNodesOfOneRank) {
  const auto layout = layout_of(Seen{{0}, {1}, {2}}, 2);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->nodes, 3);
  EXPECT_EQ(layout->node, 2);
  EXPECT_EQ(layout->place, 0);
}

TEST(Layout, WhatDoesNotFitTogetherIsRefusedOnEveryRank) {
  for (const Seen& seen : {Seen{{0, 1}, {0, 1}, {2}}, Seen{{0, 1}, {1}}, Seen{{1}, {0}}, Seen{{0, 7}, {0, 7}},
                           Seen{{}, {}}, Seen{{0, 1}, {0, 1}, {1, 2}, {3}}})
    for (std::size_t rank = 0; rank < seen.size(); ++rank)
      EXPECT_EQ(layout_of(seen, static_cast<int>(rank)).status().code(), Code::unsupported);
}

}  // namespace
}  // namespace sennit::shim::nccl
