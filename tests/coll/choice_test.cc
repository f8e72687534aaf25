#include "coll/choice.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "coll/candidates.h"
#include "teams.h"

namespace sennit::coll {
namespace {

CallKey allreduce_of(std::uint64_t bytes) {
  return {Operation::allreduce, Arithmetic::fast, bytes};
}

std::vector<CallKey> cases(std::uint64_t bytes) {
  std::vector<CallKey> all;
  for (const Operation operation : all_operations())
    for (const Arithmetic arithmetic : {Arithmetic::none, Arithmetic::fast, Arithmetic::general})
      if (reduces(operation) == (arithmetic != Arithmetic::none)) all.push_back({operation, arithmetic, bytes});
  return all;
}

TEST(Choice, EveryCandidateCanDoWhatItIsFor) {
  for (const device::Kind kind : {device::Kind::cuda, device::Kind::host})
    for (int ranks = 2; ranks <= kMostRanks; ++ranks)
      for (std::uint64_t bytes = 1; bytes <= std::uint64_t{1} << 33; bytes = bytes * 3 + 1)
        for (const CallKey& which : cases(bytes)) {
          const Team team = team_of(ranks);
          std::vector<Plan> plans = candidates(which, team, kind);
          ASSERT_FALSE(plans.empty()) << name(which.operation) << " of " << bytes;
          plans.push_back(choose(which, team, kind, {}));
          for (const Plan& plan : plans) {
            EXPECT_GE(most_bytes(which.operation, plan, team), bytes) << name(which.operation) << " of " << bytes;
            EXPECT_GE(plan.blocks, 1u);
            EXPECT_LE(plan.blocks, kMostBlocks);
            EXPECT_EQ(plan.threads % 32, 0u);
          }
        }
}

TEST(Choice, HasNoMoreBlocksThanAreAsked) {
  const Team team = team_of(4);
  for (const unsigned most : {1U, 5U, 66U})
    for (std::uint64_t bytes = 1; bytes <= std::uint64_t{1} << 33; bytes = bytes * 3 + 1)
      for (const CallKey& which : cases(bytes)) {
        const std::vector<Plan> plans = candidates(which, team, device::Kind::cuda, most);
        ASSERT_FALSE(plans.empty()) << name(which.operation) << " of " << bytes;
        for (const Plan& plan : plans) {
          EXPECT_LE(plan.blocks, most);
          EXPECT_FALSE(sends_packets(plan.algorithm) && plan.threads > 256) << "takes an SM";
        }
        EXPECT_LE(choose(which, team, device::Kind::cuda, {}, most).blocks, most);
      }
}

TEST(Choice, LessHasRoomBesideMessages) {
  const Team team = team_of(4);
  const Plan whole{Algorithm::two_shot_whole, 32};
  const auto has_room = [&](std::uint64_t bytes, const Plan& plan) {
    return has_room_beside_messages(allreduce_of(bytes), plan, team);
  };
  const std::uint64_t most = most_bytes(Operation::allreduce, whole, team);
  EXPECT_FALSE(has_room(most, whole)) << "a quarter of the slots is for messages";
  EXPECT_TRUE(has_room(most * 7 / 10, whole));
  EXPECT_TRUE(has_room(16 * most, {Algorithm::two_shot, 32})) << "chunk by chunk slots suffice for any message";
  EXPECT_TRUE(has_room(KiB, {Algorithm::two_shot, kMostBlocks - kBlocksForMessages}));
  EXPECT_FALSE(has_room(KiB, {Algorithm::two_shot, kMostBlocks})) << "some blocks are kept for messages";
}

TEST(Choice, IsTheSameOnEveryRank) {
  for (std::uint64_t bytes = 8; bytes <= std::uint64_t{1} << 30; bytes *= 4)
    for (const CallKey& which : cases(bytes)) {
      Team team = team_of(4);
      const Plan first = choose(which, team, device::Kind::cuda, {});
      for (team.rank = 1; team.rank < team.size; ++team.rank)
        EXPECT_EQ(choose(which, team, device::Kind::cuda, {}), first) << name(which.operation) << " of " << bytes;
    }
}

TEST(Choice, GoesFromPacketsToChunksAsMessagesGrow) {
  for (const int ranks : {2, 4, 8}) {
    const Team team = team_of(ranks);
    const auto chosen = [&](std::uint64_t bytes) {
      return choose(allreduce_of(bytes), team, device::Kind::cuda, {}).algorithm;
    };
    EXPECT_EQ(chosen(1 * KiB), Algorithm::one_shot_packets) << ranks;
    EXPECT_LT(work_of(allreduce_of(64 * MiB), chosen(64 * MiB), ranks).sent, 2.0 * 64 * MiB) << ranks;
  }
  EXPECT_EQ(choose(allreduce_of(256 * MiB), team_of(4), device::Kind::cuda, {}).algorithm, Algorithm::segmented_ring);
  EXPECT_EQ(choose(allreduce_of(256 * KiB), team_of(4), device::Kind::cuda, {}).algorithm,
            Algorithm::two_shot_packets);
  EXPECT_EQ(choose(allreduce_of(1 * MiB), team_of(2), device::Kind::cuda, {}).algorithm, Algorithm::one_shot_whole);
  EXPECT_EQ(choose(allreduce_of(4 * MiB), team_of(4), device::Kind::cuda, {}).algorithm, Algorithm::two_shot_whole);
}

TEST(Choice, FollowsTheMachine) {
  // Where crossing a link is dear, fewer crossings are taken for longer.
  const CallKey which = allreduce_of(256 * KiB);
  const Team team = team_of(4);
  EXPECT_EQ(choose(which, team, device::Kind::cuda, {}).algorithm, Algorithm::two_shot_packets);
  const Plan plan =
      choose(which, team, device::Kind::cuda, {.crossing_us = 50, .meeting_us = 50, .packet_crossing_us = 50});
  EXPECT_EQ(work_of(which, plan.algorithm, 4).crossings, 1) << name(plan.algorithm);
}

TEST(Choice, AChooserDecidesForAllSizesOfABucketAlike) {
  for (std::uint64_t bytes = 1; bytes < std::uint64_t{1} << 40; bytes = bytes * 5 / 4 + 1) {
    const std::uint64_t bucket = bucket_of(bytes);
    EXPECT_GE(bucket, bytes);
    EXPECT_LE(double(bucket), std::max(8.0, double(bytes) * 1.26));
    EXPECT_EQ(bucket_of(bucket), bucket);
  }
  EXPECT_EQ(bucket_of(1024), 1024u);
  EXPECT_EQ(bucket_of(1025), 1280u);
}

}  // namespace
}  // namespace sennit::coll
