// Ranks are threads, and words go straight from one to the other.
#include "shim/mpi/comm/control_exchange.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "comm/frame.h"

namespace sennit::shim::mpi {
namespace {

comm::Bytes bytes(const std::string& text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

/// Processes 0 to 3 of a job.
struct Job {
  std::atomic<bool> lost{false};
  std::array<std::unique_ptr<ControlExchanges>, 4> of;
  Job() {
    for (int from = 0; from < 4; ++from)
      of[std::size_t(from)] = std::make_unique<ControlExchanges>(
          [this, from](int to, comm::Bytes word) {
            EXPECT_LE(word.size(), comm::kLargestWord);
            EXPECT_TRUE(of[std::size_t(to)]->on_message(from, word));
          },
          [this](std::span<const int> ranks) {
            const bool has_lost = lost && std::ranges::find(ranks, 3) != ranks.end();
            return has_lost ? Status(Code::peer_lost, "rank 3 died") : Status();
          });
  }
};

TEST(ControlExchange, EveryRankGetsWhatEachSaidInEachRound) {
  Job job;
  const std::vector<int> ranks{3, 1, 0};  // in the communicator's order
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      ControlExchanges& mine = *job.of[std::size_t(ranks[std::size_t(rank)])];
      const auto exchange = mine.open(7, ranks, rank);
      EXPECT_EQ(exchange->rank(), rank);
      EXPECT_EQ(exchange->size(), 3);
      for (int round = 0; round < 200; ++round) {
        const std::string text = std::string(std::size_t(rank), '+') + std::to_string(round);
        const auto all = exchange->all_gather(bytes(text));
        ASSERT_TRUE(all.ok()) << all.status().text();
        for (int of = 0; of < 3; ++of)
          EXPECT_EQ((*all)[std::size_t(of)], bytes(std::string(std::size_t(of), '+') + std::to_string(round)));
      }
    });
}

TEST(ControlExchange, LongItemsComeInPieces) {
  for (const std::uint64_t bytes : {comm::kLargestWord - 41, comm::kLargestWord - 40, comm::kLargestWord - 39,
                                    2 * comm::kLargestWord - 80, std::uint64_t{1} << 20}) {
    Job job;
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        const auto exchange = job.of[std::size_t(rank)]->open(7, {0, 1, 2}, rank);
        const auto item_of = [&](int of) {
          comm::Bytes item(of == 1 ? 0 : bytes);
          for (std::size_t i = 0; i < item.size(); ++i) item[i] = std::byte(std::size_t(of) + i + i / 997);
          return item;
        };
        for (int round = 0; round < 3; ++round) {
          const auto all = exchange->all_gather(item_of(rank));
          ASSERT_TRUE(all.ok()) << all.status().text();
          for (int of = 0; of < 3; ++of) EXPECT_EQ((*all)[std::size_t(of)], item_of(of)) << bytes;
        }
      });
  }
}

TEST(ControlExchange, TwoAtOnceDoNotMix) {
  Job job;
  const auto first = job.of[0]->open(1, {0, 1}, 0), second = job.of[0]->open(2, {0, 1}, 0);
  std::jthread other([&] {
    EXPECT_TRUE(job.of[1]->open(2, {0, 1}, 1)->all_gather(bytes("second")).ok());
    EXPECT_TRUE(job.of[1]->open(1, {0, 1}, 1)->all_gather(bytes("first")).ok());
  });
  std::jthread one([&] {
    const auto all = first->all_gather(bytes("mine"));
    EXPECT_EQ(all->back(), bytes("first"));
  });
  const auto all = second->all_gather(bytes("mine"));
  EXPECT_EQ(all->back(), bytes("second"));
}

TEST(ControlExchange, NobodyWaitsForTheDeadOrAfterTheEnd) {
  Job job;
  std::jthread dies([&] { job.lost = true; });
  EXPECT_EQ(job.of[0]->open(1, {0, 3}, 0)->all_gather({}).status().code(), Code::peer_lost);
  job.lost = false;
  job.of[1]->end();
  EXPECT_FALSE(job.of[1]->open(2, {0, 1}, 1)->all_gather({}).ok());
  const auto cancelled = job.of[2]->open(3, {2, 3}, 0);
  cancelled->cancel();
  EXPECT_FALSE(cancelled->all_gather({}).ok());
}

TEST(ControlExchange, OtherWordsAreNotIts) {
  Job job;
  EXPECT_FALSE(job.of[0]->on_message(1, comm::Writer().number(1).number(2).number(3).take()));
  EXPECT_FALSE(job.of[0]->on_message(1, {}));
}

}  // namespace
}  // namespace sennit::shim::mpi
