#include "coll/cost.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "coll/candidates.h"
#include "teams.h"

namespace sennit::coll {
namespace {

TEST(Cost, EveryAlgorithmHasAFormula) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks)
    for (const Operation operation : all_operations())
      for (const Algorithm algorithm : algorithms_of(operation)) {
        const Work work = work_of({operation, Arithmetic::none, MiB}, algorithm, ranks);
        EXPECT_GE(work.crossings, 1) << name(operation) << " by " << name(algorithm);
        EXPECT_EQ(work.sent + work.by_engines >= 0.5 * MiB, operation != Operation::barrier)
            << name(operation) << " by " << name(algorithm);
      }
}

TEST(Cost, OfAKnomialTreeCountsWhatItsRootSends) {
  const auto sends = [](Algorithm algorithm, int ranks) {
    return work_of({Operation::broadcast, Arithmetic::none, MiB}, algorithm, ranks).sent / MiB;
  };
  EXPECT_EQ(sends(Algorithm::knomial_2, 8), 3);
  EXPECT_EQ(sends(Algorithm::knomial_4, 8), 4) << "three, and one in the first round";
  EXPECT_EQ(sends(Algorithm::knomial_8, 8), 7);
  EXPECT_EQ(sends(Algorithm::knomial_8, 2), 1);
}

TEST(Cost, NothingSendsLessThanTheBoundOfItsOperation) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks)
    for (const Algorithm algorithm : algorithms_of(Operation::allreduce)) {
      const Work work = work_of({Operation::allreduce, Arithmetic::fast, MiB}, algorithm, ranks);
      const bool one_step = work.crossings == 1;
      EXPECT_GE((work.sent + work.by_engines) * (one_step ? 2 : 1), 2.0 * MiB * (ranks - 1) / ranks - 1)
          << name(algorithm);
    }
}

TEST(Cost, GrowsWithBytesAndFallsWithTheLinksRate) {
  for (const Operation operation : all_operations()) {
    if (operation == Operation::barrier) continue;
    const Team team = team_of(4);
    const Arithmetic arithmetic = reduces(operation) ? Arithmetic::fast : Arithmetic::none;
    const CallKey large{operation, arithmetic, 2 * MiB};
    for (const Plan& plan : candidates(large, team, device::Kind::cuda)) {
      const double us = predict_us(large, plan, team, {});
      EXPECT_GT(us, predict_us({operation, arithmetic, MiB}, plan, team, {})) << name(plan.algorithm);
      EXPECT_LE(predict_us(large, plan, team, {.link_gbps = 700, .packet_gbps = 900, .engine_gbps = 800}), us)
          << name(plan.algorithm);
    }
  }
}

// Medians that were measured on 2 and 4 × H200, as a graph, in place; see results/.
TEST(Cost, IsNearWhatWasMeasured) {
  struct Measured {
    int ranks;
    Operation operation;
    std::uint64_t bytes;  // Call::bytes
    Plan plan;
    double us;
  };
  const Measured all[] = {
      {2, Operation::allreduce, 1024, {Algorithm::one_shot_packets, 4, 256}, 2.599},
      {2, Operation::allreduce, 262144, {Algorithm::one_shot_packets, 128, 256}, 4.541},
      {2, Operation::allreduce, MiB, {Algorithm::two_shot_packets, 256, 256}, 10.69},
      {2, Operation::allreduce, 4 * MiB, {Algorithm::two_shot, 128, 256}, 22.71},
      {2, Operation::allreduce, 64 * MiB, {Algorithm::two_shot, 256, 256}, 206.7},
      {2, Operation::allreduce, 64 * MiB, {Algorithm::copy_engines, 64, 256}, 235.2},
      {2, Operation::allgather, 32 * MiB, {Algorithm::direct, 256, 256}, 113.3},
      {2, Operation::reduce_scatter, 32 * MiB, {Algorithm::direct, 256, 256}, 119.2},
      {2, Operation::broadcast, 16 * MiB, {Algorithm::chain, 256, 256}, 50.85},
      {2, Operation::reduce, 16 * MiB, {Algorithm::linear, 128, 256}, 50.27},
      {2, Operation::all_to_all, 2 * MiB, {Algorithm::direct, 128, 256}, 13.7},
      {4, Operation::allreduce, 16 * KiB, {Algorithm::one_shot_packets, 16, 256}, 3.867},
      {4, Operation::allreduce, MiB, {Algorithm::two_shot_packets, 128, 256}, 15.32},
      {4, Operation::allreduce, 64 * MiB, {Algorithm::two_shot, 256, 256}, 309.2},
      {4, Operation::allreduce, 64 * MiB, {Algorithm::segmented_ring, 256, 256}, 298.5},
      {4, Operation::allreduce, 64 * MiB, {Algorithm::copy_engines, 64, 256}, 533.9},
      {4, Operation::allgather, 16 * MiB, {Algorithm::ring, 256, 256}, 157.6},
      {4, Operation::reduce_scatter, 16 * MiB, {Algorithm::ring, 256, 256}, 159.6},
      {4, Operation::broadcast, MiB, {Algorithm::chain, 128, 256}, 7.64},
      {2, Operation::barrier, 0, {Algorithm::direct, 1, 32}, 3.7},
  };
  for (const Measured& each : all) {
    const Team team = team_of(each.ranks);
    const Arithmetic arithmetic = reduces(each.operation) ? Arithmetic::fast : Arithmetic::none;
    const double us = predict_us({each.operation, arithmetic, each.bytes}, each.plan, team, {});
    EXPECT_NEAR(us / each.us, 1, 0.25) << name(each.operation) << " by " << name(each.plan.algorithm) << " of "
                                       << each.bytes << " on " << each.ranks << ": " << us << " instead of "
                                       << each.us;
  }
}

}  // namespace
}  // namespace sennit::coll
