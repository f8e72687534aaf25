// Message algorithms bring everybody what their operation promises, and send no more than is known of them.
#include "sim/rounds.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sennit::sim {
namespace {

using coll::Operation;

double sent_by(const Rounds& rounds, int rank) {
  double all = 0;
  for (const Round& round : rounds)
    for (const Message& each : round.messages)
      if (each.from == rank) all += each.bytes * static_cast<double>(round.times);
  return all;
}

TEST(Rounds, NameRanksThatThereAreAndSendNobodyHisOwn) {
  for (Ranks ranks : {Ranks{8, 8, 3}, Ranks{16, 4, 1}, Ranks{12, 4, 0}, Ranks{7, 7, 6}, Ranks{64, 8, 0}})
    for (const MessageAlgorithm& algorithm : message_algorithms()) {
      ranks.network = ranks.hosts = true;
      if (!algorithm.admits(ranks)) {
        EXPECT_FALSE(algorithm.wants.empty());
        continue;
      }
      const Rounds rounds = algorithm.rounds(ranks, 1e6);
      EXPECT_FALSE(rounds.empty());
      for (const Round& round : rounds) {
        EXPECT_GE(round.times, 1u);
        for (const Message& each : round.messages) {
          EXPECT_TRUE(each.from != each.to || each.from_host != each.to_host) << algorithm.name;
          EXPECT_TRUE(each.from >= 0 && each.from < ranks.all && each.to >= 0 && each.to < ranks.all);
          EXPECT_GT(each.bytes, 0);
        }
      }
    }
}

/// The least that anybody can send, as the field knows it.
TEST(Rounds, OfLongMessagesSendNoMoreThanTheirFormulas) {
  const Ranks ranks{16, 4, 0};
  const double m = 1 << 20, n = 16;
  const auto sends = [&](Operation operation, std::string_view name, double bytes) {
    const Rounds rounds = message_algorithm(operation, name)->rounds(ranks, m);
    double most = 0;
    for (int rank = 0; rank < ranks.all; ++rank) most = std::max(most, sent_by(rounds, rank));
    EXPECT_NEAR(most, bytes, 1e-6 * bytes) << name;
  };
  sends(Operation::allreduce, "ring", 2 * (n - 1) / n * m);
  sends(Operation::allreduce, "two_shot", 2 * (n - 1) / n * m);
  sends(Operation::allreduce, "reduce_scatter_allgather", 2 * (n - 1) / n * m);
  sends(Operation::allreduce, "recursive_doubling", 4 * m);
  sends(Operation::allreduce, "one_shot", (n - 1) * m);
  sends(Operation::allreduce, "multilane", 2 * 3 / 4.0 * m + 2 * 3 / 4.0 * m / 4);
  sends(Operation::allreduce, "multilane_halving", 2 * 3 / 4.0 * m + 2 * 3 / 4.0 * m / 4);
  sends(Operation::allgather, "ring", (n - 1) * m);
  sends(Operation::allgather, "recursive_doubling", (n - 1) * m);
  sends(Operation::reduce_scatter, "halving", (n - 1) * m);
  sends(Operation::all_to_all, "direct", (n - 1) * m);
  sends(Operation::broadcast, "tree", 4 * m);
  sends(Operation::broadcast, "chain", m);
}

/// What each rank knows, as the set of ranks whose data is in it, goes about with the messages; those of a round all
/// leave before any arrives. Of algorithms that cut the vector in parts this holds for all parts together.
TEST(Rounds, OfAnAllreduceBringEverybodysDataToEverybody) {
  for (const Ranks& ranks : {Ranks{8, 8, 0}, Ranks{16, 4, 0}, Ranks{12, 4, 0}, Ranks{5, 5, 0}})
    for (const MessageAlgorithm& algorithm : message_algorithms()) {
      const Operation operation = algorithm.operation;
      if (!algorithm.admits(ranks) || (operation != Operation::allreduce && operation != Operation::allgather &&
                                       operation != Operation::all_to_all))
        continue;
      std::vector<std::uint64_t> knows;
      for (int rank = 0; rank < ranks.all; ++rank) knows.push_back(std::uint64_t{1} << rank);
      for (const Round& round : algorithm.rounds(ranks, 1e6))
        for (std::uint64_t time = 0; time < round.times; ++time) {
          const std::vector<std::uint64_t> before = knows;
          for (const Message& each : round.messages)
            knows[static_cast<std::size_t>(each.to)] |= before[static_cast<std::size_t>(each.from)];
          // Rounds that are alike but between others: of a pairwise exchange the partners between.
          if (round.times > 1 && algorithm.name != "ring" &&
              algorithm.name.find("multilane") == std::string_view::npos && algorithm.name != "hierarchical")
            for (int rank = 0; rank < ranks.all; ++rank)
              knows[static_cast<std::size_t>(rank)] |= before[static_cast<std::size_t>(
                  (rank + ranks.all - ranks.a_node * static_cast<int>(time + 1)) % ranks.all)];
        }
      const std::uint64_t all = (std::uint64_t{1} << ranks.all) - 1;
      for (const std::uint64_t each : knows) EXPECT_EQ(each, all) << algorithm.name << " of " << ranks.all;
    }
}

/// With a root: its data reaches all, or all data reaches it, whichever rank it is.
TEST(Rounds, WithARootBringItsDataToAllOrAllDataToIt) {
  for (const int ranks : {2, 5, 8, 13})
    for (int root = 0; root < ranks; ++root)
      for (const MessageAlgorithm& algorithm : message_algorithms()) {
        if (!coll::has_root(algorithm.operation)) continue;
        std::vector<std::uint64_t> knows;
        for (int rank = 0; rank < ranks; ++rank) knows.push_back(std::uint64_t{1} << rank);
        Ranks of{ranks, 1, root};
        of.network = of.hosts = true;
        for (const Round& round : algorithm.rounds(of, 1e6))
          for (std::uint64_t time = 0; time < round.times; ++time) {
            const std::vector<std::uint64_t> before = knows;
            for (const Message& each : round.messages)
              knows[static_cast<std::size_t>(each.to)] |= before[static_cast<std::size_t>(each.from)];
          }
        const bool to_root = algorithm.operation == Operation::reduce || algorithm.operation == Operation::gather;
        for (int rank = 0; rank < ranks; ++rank) {
          const std::uint64_t known = knows[static_cast<std::size_t>(rank)];
          if (to_root && rank == root) {
            EXPECT_EQ(known, (std::uint64_t{1} << ranks) - 1) << algorithm.name << " to " << root;
          } else if (!to_root) {
            EXPECT_TRUE(known >> root & 1) << algorithm.name << " from " << root << " to " << rank;
          }
        }
      }
}

TEST(Rounds, OfAKnomialTreeAreFewAndGiveEveryRankTheMessageOnce) {
  for (const int k : {2, 3, 4, 8})
    for (const int n : {2, 5, 16, 64, 100}) {
      Ranks ranks{n, 1, n / 2};
      ranks.k = k;
      const Rounds rounds = message_algorithm(Operation::broadcast, "knomial")->rounds(ranks, 1e6);
      EXPECT_EQ(count_messages(rounds), static_cast<std::uint64_t>(n - 1));
      std::size_t steps = 0;
      for (long reached = 1; reached < n; reached *= k) ++steps;
      EXPECT_EQ(rounds.size(), steps) << "k = " << k << ", " << n << " ranks";
    }
}

/// An allreduce of parts adds in its first half and gives away in its second one: there every rank gets what others
/// added up, which is all but its own part.
TEST(Rounds, OfAnAllreduceByPartsGiveEveryRankTheOthersParts) {
  const Ranks ranks{16, 4, 0};
  for (const char* name : {"ring", "two_shot", "reduce_scatter_allgather"}) {
    std::vector<double> added(16), given(16);
    for (const Round& round : message_algorithm(Operation::allreduce, name)->rounds(ranks, 16e6))
      for (const Message& each : round.messages)
        (each.reduced ? added : given)[static_cast<std::size_t>(each.to)] +=
            each.bytes * static_cast<double>(round.times);
    for (int rank = 0; rank < 16; ++rank) {
      EXPECT_NEAR(added[static_cast<std::size_t>(rank)], 15e6, 1) << name;
      EXPECT_NEAR(given[static_cast<std::size_t>(rank)], 15e6, 1) << name;
    }
  }
}

TEST(Rounds, ThatAreAlikeComeOnceForAnyNumberOfRanks) {
  const Ranks many{100000, 8, 0};
  EXPECT_LE(message_algorithm(Operation::allreduce, "ring")->rounds(many, 1e9).size(), 2u);
  EXPECT_EQ(count_messages(message_algorithm(Operation::allreduce, "ring")->rounds(many, 1e9)),
            2ull * 99999 * 100000);
  EXPECT_LE(message_algorithm(Operation::allreduce, "multilane")->rounds(many, 1e9).size(), 16u);
  const Rounds exchange = message_algorithm(Operation::all_to_all, "direct")->rounds({1024, 8, 0}, 1e3);
  EXPECT_EQ(count_messages(exchange), 1023ull * 1024);
  EXPECT_LE(exchange.size(), 24u);
}

}  // namespace
}  // namespace sennit::sim
