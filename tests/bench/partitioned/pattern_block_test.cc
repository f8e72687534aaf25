#include "bench/partitioned/pattern_block.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace sennit::bench::partitioned {
namespace {

Shape shape_of(Pattern pattern, int ranks, int partitions = 2, int planes = 3) {
  return {pattern, grid_of(pattern, ranks), std::uint64_t(partitions) * 2 * 8 * 16, partitions, planes};
}

/// Runs one rank's steps with nothing from outside, partitions in the given order.
std::vector<double> alone(const Shape& shape, std::vector<int> order) {
  Block block(shape, 0);
  block.reset(5);
  for (int step = 0; step < shape.steps(); ++step) {
    for (const int partition : order) block.step(step, partition, {}, {});
    std::ranges::reverse(order);
  }
  return {block.result().begin(), block.result().end()};
}

TEST(PatternBlock, PartitionsAreIndependent) {
  for (const Pattern pattern : {Pattern::sweep3d, Pattern::halo3d}) {
    const Shape shape = shape_of(pattern, 1, 4);
    const auto expected = alone(shape, {0, 1, 2, 3});
    EXPECT_EQ(alone(shape, {2, 0, 3, 1}), expected);
    EXPECT_EQ(serial(shape, 5).front(), expected);
    EXPECT_NE(serial(shape, 6).front(), expected) << "each round computes something else";
  }
}

TEST(PatternBlock, ASweepCarriesEachFaceAcross) {
  // One angle, and one plane: the first cell of an octant has what enters and nothing else upstream.
  const Shape shape{Pattern::sweep3d, {1, 1, 1}, 8 * kAcross, 1, 1};
  std::array<double, kAcross> in_x{}, out_x{}, out_y{};
  Block with(shape, 0), without(shape, 0);
  with.reset(0);
  without.reset(0);
  in_x[0] = 1;
  Faces in{}, out{};
  in[0] = in_x.data();
  out[1] = out_x.data();
  out[3] = out_y.data();
  with.step(0, 0, in, out);
  const std::array leaving = {out_x, out_y};
  without.step(0, 0, {}, out);
  // 0.8 of what enters, over 2: and so on along the row, and 0.5 of it into the next row.
  EXPECT_NEAR(with.result()[0] - without.result()[0], 0.4, 1e-12);
  EXPECT_NEAR(with.result()[1] - without.result()[1], 0.16, 1e-12);
  EXPECT_NEAR(with.result()[kAcross] - without.result()[kAcross], 0.1, 1e-12);
  EXPECT_NEAR(leaving[0][0] - out_x[0], 0.4 * 0.4 * 0.4 * 0.4, 1e-12);
  EXPECT_NEAR(leaving[1][0] - out_y[0], 0.4 * 0.25 * 0.25 * 0.25, 1e-12);
  // The opposite octant reads the other faces.
  Faces other{};
  std::array<double, kAcross> in_y{1, 1, 1, 1};
  other[1] = in_y.data();
  Block opposite_with(shape, 0), opposite_without(shape, 0);
  opposite_with.reset(0);
  opposite_without.reset(0);
  opposite_with.step(3, 0, other, {});
  opposite_without.step(3, 0, {}, {});
  EXPECT_NEAR(opposite_with.result()[15] - opposite_without.result()[15], 0.4, 1e-12) << "its first cell is the last";
}

TEST(PatternBlock, AHaloIsTheWeightedSumOfNeighbours) {
  const Shape shape{Pattern::halo3d, {1, 1, 1}, 8 * kAcross * kAcross, 1, 1};
  Block block(shape, 0);
  block.reset(0);
  const std::vector<double> before(block.result().begin(), block.result().end());
  std::array<double, kAcross * kAcross> face{}, out_face{};
  face[0] = 10;
  Faces in{}, out{};
  in[0] = face.data();
  out[5] = out_face.data();
  block.step(0, 0, in, out);
  const auto after = block.result();
  EXPECT_NEAR(after[0], 0.4 * before[0] + 0.1 * (10 + before[1] + before[4] + before[16]), 1e-12);
  const std::size_t inside = 1 + 4 + 16;
  EXPECT_NEAR(after[inside],
              0.4 * before[inside] + 0.1 * (before[inside - 1] + before[inside + 1] + before[inside - 4] +
                                            before[inside + 4] + before[inside - 16] + before[inside + 16]),
              1e-12);
  for (std::size_t cell = 0; cell < 16; ++cell) EXPECT_EQ(out_face[cell], after[48 + cell]) << "the side above";
}

TEST(PatternBlock, RanksDependOnTheirNeighbours) {
  for (const Pattern pattern : {Pattern::sweep3d, Pattern::halo3d}) {
    const auto two = serial(shape_of(pattern, 2), 1), four = serial(shape_of(pattern, 4), 1);
    ASSERT_EQ(four.size(), 4U);
    EXPECT_NE(two[0], four[0]) << "it has another neighbour there";
    EXPECT_EQ(two[0], serial(shape_of(pattern, 2), 1)[0]);
    for (const auto& result : four)
      EXPECT_TRUE(std::ranges::all_of(result, [](double each) { return each > 0 && each < 1e3; }));
  }
}

}  // namespace
}  // namespace sennit::bench::partitioned
