#include "path/equal_finish.h"

#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace sennit::path {
namespace {

TEST(EqualFinish, OneStrandIsItsLine) {
  const auto result = equal_finish(std::vector<RateLine>{{10, 100}}, 1e6);
  EXPECT_DOUBLE_EQ(result.us, 20);
  EXPECT_DOUBLE_EQ(result.bytes[0], 1e6);
}

TEST(EqualFinish, TwoStrandsEndTogether) {
  // (T − 10) · 300 + (T − 30) · 100 = 8000 kB: T = 35.
  const auto result = equal_finish(std::vector<RateLine>{{10, 300}, {30, 100}}, 8e6);
  EXPECT_DOUBLE_EQ(result.us, 35);
  EXPECT_DOUBLE_EQ(result.bytes[0], 7.5e6);
  EXPECT_DOUBLE_EQ(result.bytes[1], 0.5e6);
}

TEST(EqualFinish, AStrandThatStartsTooLateCarriesNothing) {
  const auto result = equal_finish(std::vector<RateLine>{{500, 100}, {10, 300}}, 3e6);
  EXPECT_DOUBLE_EQ(result.us, 20);
  EXPECT_EQ(result.bytes[0], 0);
}

TEST(EqualFinish, HoldsOnRandomStrands) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> figure(1, 300);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<RateLine> lines(1 + random() % 7);
    for (RateLine& line : lines) line = {figure(random), figure(random)};
    const double bytes = 1e3 * figure(random) * figure(random);
    const auto result = equal_finish(lines, bytes);
    EXPECT_NEAR(std::accumulate(result.bytes.begin(), result.bytes.end(), 0.0), bytes, 1e-6 * bytes);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (result.bytes[i] > 0)
        EXPECT_NEAR(lines[i].overhead_us + result.bytes[i] / lines[i].gbps / 1e3, result.us, 1e-6 * result.us);
      else
        EXPECT_GE(lines[i].overhead_us, result.us * (1 - 1e-9));
    }
  }
}

TEST(RoundShares, KeepsTheSumAndTheAlignment) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 500; ++trial) {
    const std::uint64_t bytes = random() % 3 == 0 ? random() % 20000 : random();
    std::vector<double> shares(1 + random() % 6);
    double left = double(bytes);
    for (std::size_t i = 0; i + 1 < shares.size(); ++i) shares[i] = left / 3, left -= shares[i];
    shares.back() = left;
    const auto rounded = round_shares(shares, bytes, 4096);
    EXPECT_EQ(std::accumulate(rounded.begin(), rounded.end(), std::uint64_t{0}), bytes);
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (rounded[i] > 0) {
        EXPECT_EQ(offset % 4096, 0u) << "share " << i << " of trial " << trial;
      }
      EXPECT_NEAR(double(rounded[i]), shares[i], 2 * 4096.0);
      offset += rounded[i];
    }
  }
}

TEST(RoundShares, GivesLessThanOneUnitToTheFirst) {
  EXPECT_EQ(round_shares(std::vector<double>{60, 40}, 100, 4096), (std::vector<std::uint64_t>{100, 0}));
  EXPECT_EQ(round_shares(std::vector<double>{4096 * 2 - 5, 4101}, 4096 * 3, 4096),
            (std::vector<std::uint64_t>{8192, 4096}));
}

}  // namespace
}  // namespace sennit::path
