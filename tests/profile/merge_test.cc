#include "profile/merge.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "profile/made_up.h"

namespace sennit::profile {
namespace {

std::vector<Rank> two_ranks() {
  const MadeUp first(0, 2), second(1, 2);
  // Of two allreduces the second rank comes 600 ns late to the first one, and 100 ns early to the second.
  first.call("MPI_Allreduce", 1000, 2000, 8, 1);
  second.call("MPI_Allreduce", 1600, 2000, 8, 1);
  first.call("MPI_Allreduce", 3100, 4000, 8, 2);
  second.call("MPI_Allreduce", 3000, 4000, 8, 2);
  first.call("MPI_Send", 5000, 5100, 1 << 20, 0, Memory::device);
  first.recorder->count_message(1, true, 1 << 20);
  second.recorder->count_message(0, false, 1 << 20);
  for (const MadeUp* made : {&first, &second}) {
    made->recorder->begin_run(500);
    made->recorder->end_run(10500, End::finalized);
  }
  std::vector<Rank> ranks;
  ranks.push_back(first.read().value());
  ranks.push_back(second.read().value());
  return ranks;
}

TEST(Merge, SumsCallsThatAreAlike) {
  const Profile profile = merge(two_ranks()).value();
  ASSERT_EQ(profile.rows.size(), 2u);
  const Row& row = profile.rows[0];
  EXPECT_EQ(row.function, "MPI_Allreduce");
  EXPECT_EQ(row.communicator_size, 2u);
  EXPECT_EQ(row.calls, 4u);
  EXPECT_EQ(row.bytes_in, 32u);
  EXPECT_EQ(last_of(row.bin), 8u);
  EXPECT_DOUBLE_EQ(row.seconds, 3300e-9);
  EXPECT_DOUBLE_EQ(row.rank_seconds.least, 1400e-9);
  EXPECT_DOUBLE_EQ(row.rank_seconds.most, 1900e-9);
  EXPECT_DOUBLE_EQ(row.rank_seconds.mean, 1650e-9);
  EXPECT_DOUBLE_EQ(row.least_us, 0.4);
  EXPECT_DOUBLE_EQ(row.most_us, 1);
  EXPECT_EQ(profile.rows[1].processes, 1u);
  EXPECT_EQ(profile.rows[1].rank_seconds.least, 0) << "the other rank made no such call";
  EXPECT_EQ(profile.rows[1].memory_in, Memory::device);
}

TEST(Merge, WaitingForTheLastIsApart) {
  const Profile profile = merge(two_ranks()).value();
  ASSERT_EQ(profile.skews.size(), 1u);
  EXPECT_EQ(profile.skews[0].calls, 2u);
  EXPECT_DOUBLE_EQ(profile.skews[0].wait_seconds, 700e-9);
  EXPECT_DOUBLE_EQ(profile.skews[0].inside_seconds, 3300e-9);
  // No skew is shown that is smaller than the clocks' error.
  std::vector<Rank> ranks = two_ranks();
  ranks[1].clock_error_ns = 100;
  EXPECT_DOUBLE_EQ(merge(std::move(ranks)).value().skews[0].wait_seconds, 600e-9);
}

/// A broadcast's root leaves before the last rank comes: it has not waited for that.
TEST(Merge, WhoLeavesEarlyHasNotWaited) {
  const MadeUp root(0, 2), late(1, 2);
  root.call("MPI_Bcast", 1000, 1100, 8, 1);
  late.call("MPI_Bcast", 5000, 5050, 8, 1);
  std::vector<Rank> ranks;
  ranks.push_back(root.read().value());
  ranks.push_back(late.read().value());
  const Profile profile = merge(std::move(ranks)).value();
  ASSERT_EQ(profile.skews.size(), 1u);
  EXPECT_DOUBLE_EQ(profile.skews[0].wait_seconds, 100e-9);
  EXPECT_DOUBLE_EQ(profile.skews[0].inside_seconds, 150e-9);
  EXPECT_EQ(profile.skews[0].latest_rank, 1);
}

/// Clocks of two hosts count from different times: where no call puts them side by side, what they say together is no
/// waiting.
TEST(Merge, ClocksOfSeveralHostsAreNotCompared) {
  std::vector<Rank> ranks = two_ranks();
  ranks[1].host = ranks[1].clock = "another";
  for (Rank& rank : ranks) rank.functions[0] = "MPI_Bcast";
  EXPECT_TRUE(merge(std::move(ranks)).value().skews.empty());
}

TEST(Merge, MessagesAreTheSenders) {
  std::vector<Rank> ranks = two_ranks();
  Profile profile = merge(ranks).value();
  ASSERT_EQ(profile.partners.size(), 1u);
  EXPECT_EQ(profile.partners[0].from, 0);
  EXPECT_EQ(profile.partners[0].to, 1);
  EXPECT_EQ(profile.partners[0].messages, 1u);
  ranks.erase(ranks.begin());
  profile = merge(ranks).value();
  EXPECT_EQ(profile.missing, std::vector<int>{0});
  ASSERT_EQ(profile.partners.size(), 1u) << "the receiver's, where the sender's file is missing";
  EXPECT_EQ(profile.partners[0].from, 0);
}

TEST(Merge, OrderOfFilesChangesNothing) {
  std::vector<Rank> ranks = two_ranks();
  const Profile forward = merge(ranks).value();
  std::ranges::reverse(ranks);
  std::ranges::reverse(ranks[0].calls);
  const Profile backward = merge(ranks).value();
  ASSERT_EQ(forward.rows.size(), backward.rows.size());
  for (std::size_t i = 0; i < forward.rows.size(); ++i) {
    EXPECT_EQ(forward.rows[i].calls, backward.rows[i].calls);
    EXPECT_EQ(forward.rows[i].seconds, backward.rows[i].seconds);
  }
  EXPECT_EQ(forward.skews[0].wait_seconds, backward.skews[0].wait_seconds);
  EXPECT_EQ(forward.skews[0].latest_rank, backward.skews[0].latest_rank);
}

TEST(Merge, RefusesFilesOfTwoRuns) {
  std::vector<Rank> ranks = two_ranks();
  ranks[1].rank = 0;
  EXPECT_EQ(merge(ranks).status().code(), Code::corrupt);
  ranks = two_ranks();
  ranks[1].ranks = 4;
  EXPECT_EQ(merge(ranks).status().code(), Code::corrupt);
  EXPECT_EQ(merge({}).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace sennit::profile
