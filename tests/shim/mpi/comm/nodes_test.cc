#include "shim/mpi/comm/nodes.h"

#include <array>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {
namespace {

TEST(Nodes, AreNumberedInTheCommunicatorsOrder) {
  // Ranks 5 to 8 of MPI_COMM_WORLD, on two nodes in turn; the leaders' numbers are names alone.
  constexpr std::array kOfWorld{7, 6, 5, 8}, kLeaders{1, 0, 1, 0};
  const Nodes nodes = nodes_of(kOfWorld, kLeaders, 3);
  EXPECT_EQ(nodes.count, 2);
  EXPECT_EQ(nodes.own, 1);
  EXPECT_TRUE(nodes.alike);
  EXPECT_EQ(nodes.speakers, (std::vector<int>{7, 6}));
  const std::vector<std::pair<int, int>> expected{{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(nodes.place(rank).node, expected[std::size_t(rank)].first);
    EXPECT_EQ(nodes.place(rank).rank, expected[std::size_t(rank)].second);
  }
}

TEST(Nodes, MayDiffer) {
  constexpr std::array kOfWorld{0, 1, 2}, kLeaders{0, 0, 2};
  const Nodes nodes = nodes_of(kOfWorld, kLeaders, 0);
  EXPECT_EQ(nodes.count, 2);
  EXPECT_FALSE(nodes.alike);
}

TEST(Nodes, OneIsAlikeItself) {
  constexpr std::array kOfWorld{3}, kLeaders{0};
  const Nodes nodes = nodes_of(kOfWorld, kLeaders, 0);
  EXPECT_EQ(nodes.count, 1);
  EXPECT_TRUE(nodes.alike);
}

}  // namespace
}  // namespace sennit::shim::mpi
