#include "path/timing.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"

namespace sennit::path {
namespace {

machine::Curve line(double startup_us, double gbps, std::vector<std::uint64_t> sizes) {
  machine::Curve curve;
  for (const std::uint64_t bytes : sizes)
    curve.points.push_back({bytes, startup_us + double(bytes) / gbps / 1e3, 0, 9});
  return curve;
}

const std::vector<std::uint64_t> kSizes = {64 * KiB, 1 * MiB, 4 * MiB, 16 * MiB, 64 * MiB, 256 * MiB};

TEST(Fit, FindsTheLineItWasDrawnFrom) {
  const Line found = fit(line(12, 390, kSizes));
  EXPECT_NEAR(found.startup_us, 12, 1e-6);
  EXPECT_NEAR(found.gbps, 390, 1e-6);
}

TEST(Fit, IsNotMisledByOnePoint) {
  machine::Curve curve = line(12, 390, kSizes);
  curve.points[4].us *= 2;  // another job on the link while 64 MiB was measured
  EXPECT_NEAR(fit(curve).gbps, 390, 0.05 * 390);
}

TEST(Fit, TakesTheRateFromCopiesLongEnoughToShowIt) {
  // Copies within one NVSwitch domain: 180 GB/s at 4 MiB, 395 at 1 GiB.
  machine::Curve curve;
  for (const auto& [bytes, us] : std::vector<std::pair<std::uint64_t, double>>{{64 * KiB, 12.8},
                                                                               {1 * MiB, 15.2},
                                                                               {4 * MiB, 23.3},
                                                                               {16 * MiB, 53},
                                                                               {64 * MiB, 179},
                                                                               {256 * MiB, 687},
                                                                               {1 * GiB, 2716}})
    curve.points.push_back({bytes, us, 0, 9});
  EXPECT_NEAR(fit(curve).gbps, 396.5, 2);
}

TEST(Fit, RefusesWhatIsNoLine) {
  EXPECT_EQ(fit({}).gbps, 0);
  EXPECT_EQ(fit(line(12, 390, {MiB})).gbps, 0);
  EXPECT_EQ(fit(line(12, 390, {MiB, MiB})).gbps, 0);
  machine::Curve falling = line(12, 390, {MiB, 16 * MiB});
  falling.points[1].us = 0.0001;
  EXPECT_EQ(fit(falling).gbps, 0);
}

TEST(Interpolate, MeetsThePointsAndContinuesBeyondThem) {
  machine::Curve curve;
  curve.points = {{MiB, 20, 0, 9}, {2 * MiB, 24, 0, 9}};
  const Line tail{16, double(MiB) / 4e3};
  EXPECT_DOUBLE_EQ(interpolate(curve, tail, 0), 16);
  EXPECT_DOUBLE_EQ(interpolate(curve, tail, 0.5 * double(MiB)), 18);
  EXPECT_DOUBLE_EQ(interpolate(curve, tail, double(MiB)), 20);
  EXPECT_DOUBLE_EQ(interpolate(curve, tail, 1.5 * double(MiB)), 22);
  EXPECT_DOUBLE_EQ(interpolate(curve, tail, 2.0 * double(MiB)), 24);
  EXPECT_DOUBLE_EQ(interpolate(curve, tail, 3.0 * double(MiB)), 28);
}

Timing pipeline(double round_us, int blocks) {
  return {20, 50, nullptr, true, 1 / 55e3, round_us, blocks};
}

TEST(Overhead, PicksTheChunkThatAnExhaustiveSearchPicks) {
  for (const auto& [round_us, blocks] : std::vector<std::pair<double, int>>{{3.7, 1}, {1.3, 8}, {30, 1}, {0.1, 4}})
    for (double bytes = 4096; bytes < 5e9; bytes *= 3) {
      const Timing timing = pipeline(round_us, blocks);
      double best = 1e30;
      for (std::uint64_t chunk = kSmallestChunk; chunk <= kLargestChunk; chunk *= 2) {
        const double round = double(chunk) * blocks;
        best = std::min(best, 20 + std::min(bytes, round) / 55e3 + round_us * std::ceil(bytes / round));
      }
      const Overhead found = overhead(timing, bytes);
      // Between 64 KiB and the sizes where rounding up the last round matters, neighbours are within a few per cent.
      EXPECT_LE(found.us, best * 1.05 + 1e-9) << bytes << " bytes, " << round_us << " µs a round";
      EXPECT_GE(found.us, best - 1e-9);
      EXPECT_GE(found.chunk_bytes, kSmallestChunk);
      EXPECT_LE(found.chunk_bytes, kLargestChunk);
      EXPECT_EQ(found.chunk_bytes & (found.chunk_bytes - 1), 0u);
    }
}

TEST(Overhead, NeverTakesALargerChunkThanTheRouteMay) {
  Timing timing = pipeline(1.3, 8);
  EXPECT_GT(overhead(timing, 1e9).chunk_bytes, 128u << 10);
  timing.most_chunk = 128 << 10;
  for (const double bytes : {1e5, 1e7, 1e9}) EXPECT_LE(overhead(timing, bytes).chunk_bytes, 128u << 10);
}

TEST(Overhead, OfACopyIsItsStartup) {
  EXPECT_EQ(overhead({12, 400, nullptr, false, 0, 0, 1}, 1e9).us, 12);
  EXPECT_EQ(overhead({12, 400, nullptr, false, 0, 0, 1}, 1e9).chunk_bytes, 0u);
}

TEST(Overhead, OfAMeasuredCopyGivesTheMeasuredTime) {
  const machine::Curve curve = line(12, 390, kSizes);
  const Line drawn = fit(curve);
  const Timing timing{drawn.startup_us, drawn.gbps, &curve, false, 0, 0, 1};
  EXPECT_NEAR(finish_us(timing, 64e6, drawn.gbps), 12 + 64e6 / 390e3, 1e-6);
  // Slower neighbours stretch the transfer and leave the overhead.
  EXPECT_NEAR(finish_us(timing, 64e6, 195), 12 + 64e6 / 195e3, 1e-6);
}

TEST(TakeApart, GivesTheMeasuredLineAtItsOwnChunk) {
  Timing timing = pipeline(1.3, 8);
  take_apart(timing, {60, 50}, 256 * KiB, 20);
  const double round = 8 * 256.0 * 1024;
  const double bytes = 64 * round;  // whole rounds
  EXPECT_NEAR(timing.startup_us + round / 55e3 + 1.3 * 64 + bytes / timing.gbps / 1e3, 60 + bytes / 50e3, 1e-6);
}

TEST(TakeApart, StaysPossibleWhenMeasurementAndAssumptionDisagree) {
  Timing timing = pipeline(1.3, 8);
  take_apart(timing, {5, 50}, 16 * MiB, 20);  // filling alone would take longer than the measured startup
  EXPECT_EQ(timing.startup_us, 5);
  take_apart(timing, {60, 1000}, 64 * KiB, 20);  // each round alone would take longer than the measured rate allows
  EXPECT_LE(timing.gbps, 1000 / 0.85 * (1 + 1e-9));
}

}  // namespace
}  // namespace sennit::path
