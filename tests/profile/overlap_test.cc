#include "profile/overlap.h"

#include <limits>

#include <gtest/gtest.h>

namespace sennit::profile {
namespace {

using Kind = Overlap::Kind;
constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

TEST(Overlap, CountsWhatBothHaveOnOneDevice) {
  Overlap overlap;
  overlap.add(0, Kind::computation, 50, 90);
  overlap.add(0, Kind::communication, 10, 60);
  overlap.add(0, Kind::communication, 20, 40);  // within another one
  overlap.add(0, Kind::computation, 0, 15);
  overlap.add(1, Kind::computation, 0, 100);  // of another device: beside nothing
  overlap.fold(kEnd);
  EXPECT_EQ(overlap.totals().communication, 50u);
  EXPECT_EQ(overlap.totals().computation, 55u + 100u);
  EXPECT_EQ(overlap.totals().both, 5u + 10u);
}

TEST(Overlap, FoldingInPartsGivesTheSame) {
  const std::uint64_t intervals[][3] = {{0, 5, 25}, {1, 0, 100}, {0, 30, 31}, {1, 120, 130}, {0, 90, 125}};
  Overlap whole, parts;
  for (const auto& [kind, begin, end] : intervals) {
    whole.add(0, Kind(kind), begin, end);
    parts.add(0, Kind(kind), begin, end);
  }
  whole.fold(kEnd);
  for (std::uint64_t time = 0; time < 140; time += 7) parts.fold(time);
  EXPECT_EQ(parts.totals().communication, whole.totals().communication);
  EXPECT_EQ(parts.totals().computation, whole.totals().computation);
  EXPECT_EQ(parts.totals().both, 20u + 1u + 10u + 5u);
  EXPECT_EQ(whole.totals().both, parts.totals().both);
}

TEST(Overlap, WhatComesTooLateCountsFromTheFold) {
  Overlap overlap;
  overlap.add(0, Kind::computation, 0, 10);
  overlap.fold(20);
  overlap.add(0, Kind::communication, 5, 30);
  overlap.add(0, Kind::communication, 1, 3);
  overlap.fold(kEnd);
  EXPECT_EQ(overlap.totals().communication, 10u);
  EXPECT_EQ(overlap.totals().both, 0u);
}

}  // namespace
}  // namespace sennit::profile
