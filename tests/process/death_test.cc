// A rank dies, aborts or leaves; the others notice in time and know which it was.
#include <cctype>
#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job.h"

namespace sennit::comm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Variables on_nodes(int ranks_per_node) {
  return [=](int rank) {
    return std::map<std::string, std::string>{{"SENNIT_NODE", fmt::format("n{}", rank / ranks_per_node)}};
  };
}

// "after N ms …", where the victim's end was at 200 ms.
int noticed_ms(const std::string& line) {
  return line.starts_with("after ") && std::isdigit(line[6]) ? std::stoi(line.substr(6)) : -1;
}

void expect_noticed(const Job& job, int victim, const std::string& text) {
  for (int rank = 0; rank < int(job.lines.size()); ++rank) {
    if (rank == victim) continue;
    EXPECT_THAT(job.line(rank), AllOf(HasSubstr("calls 1"), HasSubstr(text))) << "rank " << rank;
    EXPECT_GE(noticed_ms(job.line(rank)), 150) << job.line(rank);
    EXPECT_LT(noticed_ms(job.line(rank)), 5000) << job.line(rank);
  }
}

class Death : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Death, ByKillIsNoticedByAll) {
  const auto [victim, ranks_per_node] = GetParam();
  const Job job = run_job(4, {"death", std::to_string(victim), "kill"}, on_nodes(ranks_per_node));
  EXPECT_EQ(job.ended.statuses[std::size_t(victim)], 128 + SIGKILL);
  expect_noticed(job, victim, "peer_lost: rank " + std::to_string(victim) + " died");
  // Who is lost to whom: the one that died, and those of other nodes where words went by way of it.
  const auto leader = [each = ranks_per_node](int rank) { return rank / each * each; };
  for (int rank = 0; rank < 4; ++rank) {
    std::string lost = "; lost:";
    for (int other = 0; other < 4; ++other) {
      const bool elsewhere = leader(other) != leader(rank);
      const bool cut_off = elsewhere && (victim == 0 || leader(other) == victim || leader(rank) == victim);
      if (other == victim || cut_off) lost += fmt::format(" {}", other);
    }
    if (rank != victim) {
      EXPECT_TRUE(job.line(rank).ends_with(lost)) << job.line(rank) << " and not" << lost;
    }
  }
}

TEST_P(Death, ByAbortReachesAllWithTheReason) {
  const auto [victim, ranks_per_node] = GetParam();
  const Job job = run_job(4, {"death", std::to_string(victim), "abort"}, on_nodes(ranks_per_node));
  expect_noticed(job, -1, "aborted: rank " + std::to_string(victim) + " aborted: the answer is not 42");
}

INSTANTIATE_TEST_SUITE_P(VictimAndRanksPerNode, Death,
                         testing::Values(std::tuple(0, 4), std::tuple(2, 4), std::tuple(0, 2), std::tuple(1, 2),
                                         std::tuple(2, 2), std::tuple(3, 2), std::tuple(2, 1)));

TEST(DeathWithoutGoodbye, ByExitIsNoticedToo) {
  expect_noticed(run_job(3, {"death", "1", "exit"}), 1, "peer_lost: rank 1 died");
}

TEST(DeathWithoutGoodbye, IsNoticedThoughAChildLivesOn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support fork() in a program with threads";
#endif
  const Job job = run_job(3, {"death", "1", "fork"});
  expect_noticed(job, 1, "peer_lost: rank 1 died");
}

TEST(Leaving, EndsWaitsForTheOneThatLeft) {
  const Job job = run_job(2, {"death", "1", "leave"});
  EXPECT_THAT(job.line(0), AllOf(HasSubstr("calls 0"), HasSubstr("peer_lost: rank 1 has left the group")));
  EXPECT_LT(noticed_ms(job.line(0)), 5000);
}

TEST(Leaving, InOrderIsNoDeath) {
  for (const int ranks_per_node : {4, 2}) {
    const Job job = run_job(4, {"leave_in_order"}, on_nodes(ranks_per_node));
    for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(job.line(rank), "check ok");
  }
}

}  // namespace
}  // namespace sennit::comm
