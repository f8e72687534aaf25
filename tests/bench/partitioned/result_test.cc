#include "bench/partitioned/result.h"

#include <gtest/gtest.h>

namespace sennit::bench::partitioned {
namespace {

/// Rounds of a message of 8000 bytes in two partitions that takes twice as long as a whole one, half of it before the
/// join.
Samples some_samples(int rounds, double jitter_us = 0) {
  Samples samples;
  for (int round = 0; round < rounds; ++round) {
    const double at = 1000.0 * round, more = round % 2 == 0 ? jitter_us : -jitter_us;
    samples.own.push_back({at, at + 20, at + 31, {{at + 10, at + 11, at + 15}, {at + 19, at + 20, at + 34 + more}}});
    samples.single.push_back({at + 500, at + 520, at + 530, {{at + 520, at + 521, at + 530}}});
    samples.begin_us.push_back(3);
  }
  return samples;
}

Cell some_cell() {
  Cell cell;
  cell.plan.crew = {1, 2};
  cell.plan.bytes = 8000;
  cell.plan.compute_us = 20;
  return cell;
}

TEST(Rows, SayWhatTheTimesCameTo) {
  const Json row = measured(some_cell(), {Compute::spun, 1}, some_samples(9));
  EXPECT_EQ(row.at("back_end"), "mpi");
  EXPECT_EQ(row.at("state"), "measured");
  EXPECT_EQ(row.at("messages"), 2);
  EXPECT_EQ(row.at("rounds"), 9);
  EXPECT_DOUBLE_EQ(row.at("single_us").at("median"), 10);
  EXPECT_DOUBLE_EQ(row.at("transfer_us").at("median"), 20);
  EXPECT_DOUBLE_EQ(row.at("overhead").at("median"), 2);
  EXPECT_DOUBLE_EQ(row.at("perceived_gbps").at("median"), 8000 / 15.0 / 1e3);
  EXPECT_DOUBLE_EQ(row.at("availability_percent").at("median"), -40);
  EXPECT_DOUBLE_EQ(row.at("early_bird_percent").at("median"), 30);
  EXPECT_DOUBLE_EQ(row.at("exposed_us").at("median"), 14);
  EXPECT_DOUBLE_EQ(row.at("saved_us").at("median"), 30 - 34) << "of a whole message's round, compute and all";
  EXPECT_DOUBLE_EQ(row.at("early_partitions_percent"), 100);
  EXPECT_DOUBLE_EQ(row.at("begin_us"), 3);
  EXPECT_EQ(row.at("crowded"), false);
  EXPECT_EQ(row.at("timeline").at("joined_us"), 20);
  EXPECT_EQ(row.at("timeline").at("partitions").at(1), Json({19, 20, 34}));
  // By the public suite partitions begin when their calls have returned.
  EXPECT_DOUBLE_EQ(row.at("as_published").at("overhead"), 1.8);
  EXPECT_DOUBLE_EQ(row.at("as_published").at("perceived_gbps"), 8000 / 14.0 / 1e3);
}

TEST(Rows, AreMarkedWhereThreadsHaveNoCoreEach) {
  Cell cell = some_cell();
  cell.plan.crew.threads = 4;
  const Json row = not_measured(cell, {Compute::slept, 3}, "hung", "hung after 3 messages.");
  EXPECT_EQ(row.at("crowded"), true);
  EXPECT_EQ(row.at("computed"), "slept");
  EXPECT_EQ(row.at("state"), "hung");
  EXPECT_FALSE(row.contains("overhead"));
}

TEST(Rounds, GoOnUntilTheMedianIsKnownOrTimeIsOver) {
  EXPECT_FALSE(is_enough(some_samples(6), 100, 1)) << "so few say nothing";
  EXPECT_TRUE(is_enough(some_samples(7), 0, 1)) << "all are alike";
  EXPECT_FALSE(is_enough(some_samples(20, 5), 0.5, 1));
  EXPECT_TRUE(is_enough(some_samples(20, 5), 1, 1));
  EXPECT_TRUE(is_steady(some_samples(20, 0.2)));
  EXPECT_FALSE(is_steady(some_samples(20, 5)));
  EXPECT_FALSE(is_steady(Samples{}));
}

TEST(Rows, OfNothingHaveNoFigures) {
  const Json row = measured(some_cell(), {}, Samples{});
  EXPECT_EQ(row.at("rounds"), 0);
  EXPECT_TRUE(row.at("timeline").is_null());
}

}  // namespace
}  // namespace sennit::bench::partitioned
