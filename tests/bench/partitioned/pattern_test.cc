#include "bench/partitioned/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::bench::partitioned {
namespace {

using testing::HasSubstr;

TEST(Pattern, NamesAreRead) {
  for (const Pattern each : {Pattern::sweep3d, Pattern::halo3d}) EXPECT_EQ(*parse_pattern(name(each)), each);
  EXPECT_THAT(parse_pattern("wavefront").status().text(), HasSubstr("there is no pattern 'wavefront'"));
}

TEST(Pattern, GridsAreEven) {
  const auto sizes = [](Pattern pattern, int ranks) {
    const Grid grid = grid_of(pattern, ranks);
    return std::array{grid.x, grid.y, grid.z};
  };
  EXPECT_EQ(sizes(Pattern::sweep3d, 1), (std::array{1, 1, 1}));
  EXPECT_EQ(sizes(Pattern::sweep3d, 4), (std::array{2, 2, 1}));
  EXPECT_EQ(sizes(Pattern::sweep3d, 6), (std::array{3, 2, 1}));
  EXPECT_EQ(sizes(Pattern::sweep3d, 7), (std::array{7, 1, 1}));
  EXPECT_EQ(sizes(Pattern::halo3d, 4), (std::array{2, 2, 1}));
  EXPECT_EQ(sizes(Pattern::halo3d, 8), (std::array{2, 2, 2}));
  EXPECT_EQ(sizes(Pattern::halo3d, 12), (std::array{3, 2, 2}));
}

TEST(Pattern, NeighboursAreEachOthers) {
  const Grid grid{3, 2, 2};
  int found = 0;
  for (int rank = 0; rank < grid.ranks(); ++rank)
    for (int side = 0; side < kSides; ++side) {
      const int other = neighbour(grid, rank, side);
      if (other < 0) continue;
      ++found;
      EXPECT_EQ(neighbour(grid, other, opposite(side)), rank);
    }
  EXPECT_EQ(found, 2 * (2 * 4 + 6 + 6)) << "links along x, y and z, each from both ends";
}

TEST(Pattern, WhatIsSentIsReceived) {
  for (const Pattern pattern : {Pattern::sweep3d, Pattern::halo3d})
    for (const int ranks : {1, 2, 4, 6, 8}) {
      const Shape shape{pattern, grid_of(pattern, ranks), 4096, 4, 3};
      const int late = pattern == Pattern::halo3d ? 1 : 0;  // what leaves in a step is needed in the next one
      for (int step = 0; step < shape.steps(); ++step)
        for (int rank = 0; rank < ranks; ++rank)
          for (int side = 0; side < kSides; ++side) {
            if (!exchange(shape, rank, step).sends[std::size_t(side)]) continue;
            ASSERT_LT(step + late, shape.steps());
            const int other = neighbour(shape.grid, rank, side);
            ASSERT_GE(other, 0);
            EXPECT_TRUE(exchange(shape, other, step + late).receives[std::size_t(opposite(side))]);
          }
      Ledger all;
      for (int rank = 0; rank < ranks; ++rank) all += ledger(shape, rank);
      EXPECT_EQ(all.bytes, all.received);
      EXPECT_EQ(all.bytes, all.faces * shape.bytes);
    }
}

TEST(Pattern, OfFourRanksTheLedgerIsKnown) {
  // 2 × 2 ranks: in each octant two faces leave along x and two along y, in each plane.
  const Shape sweep{Pattern::sweep3d, {2, 2, 1}, 65536, 16, 8};
  Ledger all;
  for (int rank = 0; rank < 4; ++rank) all += ledger(sweep, rank);
  EXPECT_EQ(all.faces, 8U * 8 * 4);
  EXPECT_EQ(all.bytes, all.faces * 65536);
  EXPECT_EQ(all.updates, 4U * 64 * 16 * updates(sweep));
  EXPECT_EQ(updates(sweep), 16U * 65536 / 8 / 16 / 4);
  // Each rank has two neighbours; the last iteration sends nothing.
  const Shape halo{Pattern::halo3d, {2, 2, 1}, 65536, 16, 8};
  all = {};
  for (int rank = 0; rank < 4; ++rank) all += ledger(halo, rank);
  EXPECT_EQ(all.faces, 7U * 4 * 2);
}

TEST(Pattern, PartitionsHoldWholeQuantities) {
  Shape shape{Pattern::sweep3d, {2, 2, 1}, 512, 16};
  EXPECT_TRUE(check(shape).ok());
  EXPECT_EQ(quantities(shape), 1U);
  shape.bytes = 511;
  EXPECT_THAT(check(shape).text(), HasSubstr("multiple of 512 bytes"));
  shape = {Pattern::halo3d, {2, 2, 1}, 1024, 16};
  EXPECT_FALSE(check(shape).ok());
}

}  // namespace
}  // namespace sennit::bench::partitioned
