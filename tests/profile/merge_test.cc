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

/// A scan's first rank leaves before the last rank comes: it has not waited for that.
TEST(Merge, WhoLeavesEarlyHasNotWaited) {
  const MadeUp first(0, 2), late(1, 2);
  first.call("MPI_Scan", 1000, 1100, 8, 1);
  late.call("MPI_Scan", 5000, 5050, 8, 1);
  std::vector<Rank> ranks;
  ranks.push_back(first.read().value());
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

/// The run is that of the process which began first; what cannot be of it is named.
TEST(Merge, LeavesFilesOfAnotherRunOut) {
  std::vector<Rank> ranks = two_ranks();
  for (Rank& rank : ranks) rank.wall_ns = 1;
  std::vector<Rank> later = two_ranks();
  for (Rank& rank : later) rank.wall_ns = 2;
  later[0].origin = "later";
  later[1].ranks = 4;
  ranks.insert(ranks.begin(), later.begin(), later.end());
  const Profile profile = merge(ranks).value();
  EXPECT_EQ(profile.rows[0].calls, 4u);
  EXPECT_EQ(profile.skews[0].calls, 2u);
  ASSERT_EQ(profile.left_out.size(), 2u);
  EXPECT_EQ(profile.left_out[0].origin, "later");
  EXPECT_EQ(profile.left_out[0].why, "rank 0 is there already, of a process that began before");
  EXPECT_EQ(profile.left_out[1].why, "it is of a job of 4 ranks, the one that began first has 2");
  ranks = two_ranks();
  ranks[0].rank = ranks[1].rank = 5;
  ranks[0].ranks = ranks[1].ranks = 2'000'000'000;
  EXPECT_EQ(merge(ranks).status().code(), Code::corrupt) << "the missing ranks would fill the memory";
  EXPECT_EQ(merge(std::vector<Rank>()).status().code(), Code::invalid_argument);
}

/// A file that cannot be read is left out, unless there is no other one.
TEST(Merge, LeavesProcessesOutThatAreNoRankAndDidNothing) {
  const MadeUp idle(-1, -1);
  EXPECT_EQ(merge({idle.read().value()}).value().ranks.size(), 1u) << "where there are no others";
  const MadeUp other(-1, -1), rank(0, 1);
  other.call("MPI_Bcast", 1, 2);
  rank.call("MPI_Bcast", 1, 2);
  const Profile merged = merge({idle.read().value(), other.read().value(), rank.read().value()}).value();
  EXPECT_EQ(merged.ranks.size(), 2u);
  EXPECT_TRUE(merged.left_out.empty()) << "nothing is missing";
}

TEST(Merge, MemoryIsRegisteredByFunction) {
  const MadeUp a(0, 2), b(1, 2);
  for (const MadeUp* const one : {&a, &b}) {
    const std::uint16_t window = one->recorder->function("MPI_Win_create");
    const std::uint16_t allocation = one->recorder->function("MPI_Alloc_mem");
    one->recorder->begin_registration(window, 100);
    one->recorder->begin_registration(allocation, 7);
    one->recorder->end_registration(window, 100);
    if (one == &b) one->recorder->begin_registration(window, 300);
  }
  const Profile merged = merge({a.read().value(), b.read().value()}).value();
  ASSERT_EQ(merged.registered.size(), 2u);
  const RegisteredMemory& windows = merged.registered[0];
  EXPECT_EQ(windows.function, "MPI_Win_create") << "most bytes first";
  EXPECT_EQ(windows.processes, 2u);
  EXPECT_EQ(windows.calls, 3u);
  EXPECT_EQ(windows.bytes, 500u);
  EXPECT_EQ(windows.most, 300u);
  EXPECT_EQ(windows.left, 300u);
  EXPECT_EQ(merged.ranks[0].registered_most, 107u) << "of all functions together";
  EXPECT_EQ(merged.ranks[1].registered_most, 307u);
}

TEST(Merge, LeavesUnreadableFilesOut) {
  const std::vector<Rank> ranks = two_ranks();
  const auto read = [&](std::size_t i) -> Result<Rank> {
    if (i == 0) return Status(Code::corrupt, "the file is cut off", "one", "remedy");
    return ranks[i];
  };
  const Profile profile = merge(2, read).value();
  ASSERT_EQ(profile.left_out.size(), 1u);
  EXPECT_EQ(profile.left_out[0].origin, "one");
  EXPECT_EQ(profile.missing, std::vector<int>{0});
  EXPECT_EQ(merge(1, read).status().what(), "the file is cut off");
}

}  // namespace
}  // namespace sennit::profile
