#include "coll/choice.h"

#include <gtest/gtest.h>

namespace sennit::coll {
namespace {

Team team_of(int ranks) {
  Team team;
  team.size = ranks;
  team.shape = Shape::of(64 << 20, ranks);
  return team;
}

TEST(Choice, EveryPlanCanDoWhatItIsChosenFor) {
  for (const device::Kind kind : {device::Kind::cuda, device::Kind::host})
    for (int ranks = 2; ranks <= kMostRanks; ++ranks)
      for (const Operation operation : all_operations())
        for (std::uint64_t bytes = 1; bytes <= std::uint64_t{1} << 33; bytes = bytes * 3 + 1) {
          const Team team = team_of(ranks);
          const Plan plan = choose(operation, team, bytes, kind);
          EXPECT_GE(most_bytes(operation, plan, team), bytes) << name(operation) << " of " << bytes;
          EXPECT_GE(plan.blocks, 1u);
          EXPECT_LE(plan.blocks, kMostBlocks);
          EXPECT_EQ(plan.threads % 32, 0u);
        }
}

TEST(Choice, IsTheSameOnEveryRank) {
  for (const Operation operation : all_operations())
    for (std::uint64_t bytes = 8; bytes <= std::uint64_t{1} << 30; bytes *= 4) {
      Team team = team_of(4);
      const Plan first = choose(operation, team, bytes, device::Kind::cuda);
      for (team.rank = 1; team.rank < team.size; ++team.rank) {
        const Plan plan = choose(operation, team, bytes, device::Kind::cuda);
        EXPECT_TRUE(plan.algorithm == first.algorithm && plan.blocks == first.blocks &&
                    plan.threads == first.threads);
      }
    }
}

}  // namespace
}  // namespace sennit::coll
