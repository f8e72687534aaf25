#include "net/hierarchical.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "net/thread_nodes.h"

namespace sennit::net {
namespace {

// A few numbers, one chunk, several, and with a rest that cannot be divided.
const std::uint64_t kCounts[] = {1, 31, 1024, 16 * 1024, 100'003};

TEST(Hierarchical, AllReduces) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer: see tests/interop for processes";
#endif
  for (const auto& [nodes, ranks, way] : {std::tuple(2, 2, Way::rails),
                                          {3, 1, Way::rails},
                                          {3, 2, Way::rails},
                                          {2, 3, Way::rails},
                                          {2, 2, Way::leaders},
                                          {3, 2, Way::leaders}})
    on_all(nodes, ranks, way, [](const Rank& mine, node::Node& node, Hierarchical& all) {
      for (const std::uint64_t count : kCounts)
        for (const bool in_place : {false, true}) {
          const auto input = numbers(node, count, [&](auto i) { return given(mine.number(), i); });
          const auto output = numbers(node, count, [](auto) { return -1.0f; });
          ASSERT_TRUE(all.all_reduce(input.data(), in_place ? input.data() : output.data(), count * 4, kSum).ok());
          expect(in_place ? input : output, count, [&](auto i) { return sum(mine, i); });
          if (!in_place) expect(input, count, [&](auto i) { return given(mine.number(), i); });
        }
    });
}

TEST(Hierarchical, ReducesToAnyRank) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : {std::pair(2, 2), {3, 2}})
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, node::Node& node, Hierarchical& all) {
      for (const std::uint64_t count : kCounts)
        for (int root = 0; root < mine.all(); ++root) {
          const auto input = numbers(node, count, [&](auto i) { return given(mine.number(), i); });
          const auto output = numbers(node, count, [](auto) { return -1.0f; });
          const bool here = mine.number() == root;
          const Place place{root / mine.ranks, root % mine.ranks};
          ASSERT_TRUE(all.reduce(input.data(), here ? output.data() : nullptr, count * 4, kSum, place).ok());
          expect(output, count, [&](auto i) { return here ? sum(mine, i) : -1.0f; });
          expect(input, count, [&](auto i) { return given(mine.number(), i); });
        }
    });
}

/// What one rank sends another.
float sent_to(std::uint64_t from, std::uint64_t to, std::uint64_t i) {
  return static_cast<float>(from * 100'000 + to * 1000 + i % 1000);
}

TEST(Hierarchical, ExchangesAllWithAllInTheOrderOfRanks) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : {std::pair(2, 2), {3, 1}, {4, 1}, {3, 2}, {2, 3}})
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, node::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine);
      for (const std::uint64_t count : kRows) {
        const std::uint64_t total = count * places.size();
        const auto value = [&](auto i) { return sent_to(own, i / count, i % count); };
        const auto input = numbers(node, total, value), output = numbers(node, total + 1, [](auto) { return -1.0f; });
        ASSERT_TRUE(all.all_to_all(input.data(), output.data(), count * 4, places).ok());
        expect(output, total, [&](auto i) { return sent_to(i / count, own, i % count); });
        expect(input, total, value);
        EXPECT_EQ(reinterpret_cast<const float*>(output.data())[total], -1.0f) << "behind the output";
      }
    });
}

/// Of messages between two ranks: none, short ones, and some of several chunks.
std::uint64_t numbers_to(std::uint64_t from, std::uint64_t to) {
  return (from + 2 * to) % 3 == 0 ? 0 : (from * 7 + to * 5) % 4 == 0 ? 30'001 : from * 500 + to;
}

TEST(Hierarchical, ExchangesMessagesOfEveryLength) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : {std::pair(2, 2), {3, 1}, {3, 2}})
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, node::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine), size = places.size();
      // Apart from each other, and the output in another order than the input.
      std::vector<std::uint64_t> sent, sent_from, received, received_to(size), passed(size);
      std::uint64_t longest = 0, given = 5, taken = 3;
      for (std::uint64_t rank = 0; rank < size; ++rank) {
        sent.push_back(numbers_to(own, rank) * 4);
        sent_from.push_back(given * 4);
        given += numbers_to(own, rank) + rank;
        received.push_back(numbers_to(rank, own) * 4);
        for (std::uint64_t to = 0; to < size; ++to) longest = std::max(longest, numbers_to(rank, to) * 4);
      }
      for (std::uint64_t rank = size; rank-- > 0; taken += numbers_to(rank, own) + 1) received_to[rank] = taken * 4;
      for (std::uint64_t from = 0; from < size; ++from)
        for (std::uint64_t to = 0; to < size; ++to)
          if (places[from].node == mine.node && places[to].rank == mine.rank)
            passed[static_cast<std::size_t>(places[to].node * mine.ranks + places[from].rank)] =
                numbers_to(from, to) * 4;
      const auto input = numbers(node, given, [](auto) { return -2.0f; });
      for (std::uint64_t rank = 0; rank < size; ++rank)
        for (std::uint64_t i = 0; i < sent[rank] / 4; ++i)
          reinterpret_cast<float*>(input.data() + sent_from[rank])[i] = sent_to(own, rank, i);
      const auto output = numbers(node, taken, [](auto) { return -1.0f; });
      ASSERT_TRUE(all.all_to_all_v(input.data(), output.data(),
                                   {sent, sent_from, received, received_to, passed, longest}, places)
                      .ok());
      std::vector<float> expected(taken, -1.0f);
      for (std::uint64_t rank = 0; rank < size; ++rank)
        for (std::uint64_t i = 0; i < received[rank] / 4; ++i)
          expected[received_to[rank] / 4 + i] = sent_to(rank, own, i);
      expect(output, taken, [&](auto i) { return expected[i]; });
    });
}

TEST(Hierarchical, ExchangesNothing) {
  on_all(2, 2, Way::rails, [](const Rank& mine, node::Node&, Hierarchical& all) {
    const auto places = out_of_order(mine);
    const std::vector<std::uint64_t> none(places.size());
    EXPECT_TRUE(all.all_to_all_v(nullptr, nullptr, {none, none, none, none, none, 0}, places).ok());
  });
}

// Of numbers whose sum depends on their order, and of sources that are more than a kernel takes at once.
TEST(Hierarchical, GivesAllRanksTheSameBits) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  constexpr std::uint64_t kCount = 50'000;
  for (const int nodes : {2, 3, 10}) {
    std::vector<std::vector<float>> results(static_cast<std::size_t>(nodes));
    on_all(nodes, 1, Way::rails, [&](const Rank& mine, node::Node& node, Hierarchical& all) {
      const auto value = [](int number, std::uint64_t i) {
        return std::ldexp(1.0f + static_cast<float>(i % 97) / 97, (number * 7 + static_cast<int>(i)) % 40 - 20);
      };
      const auto data = numbers(node, kCount, [&](auto i) { return value(mine.number(), i); });
      ASSERT_TRUE(all.all_reduce(data.data(), data.data(), kCount * 4, kSum).ok());
      const auto* const first = reinterpret_cast<const float*>(data.data());
      results[static_cast<std::size_t>(mine.number())].assign(first, first + kCount);
      for (std::uint64_t i = 0; i < kCount; ++i) {
        double exact = 0;
        for (int number = 0; number < mine.all(); ++number) exact += static_cast<double>(value(number, i));
        ASSERT_NEAR(first[i], exact, exact * 1e-5) << "number " << i;
      }
    });
    for (const auto& result : results) EXPECT_EQ(result, results.front()) << nodes << " nodes";
  }
}

TEST(Hierarchical, OfWhichAnyRankHasNoMemoryIsMadeOnNone) {
  comm::Table table(2);
  comm::on_ranks(2, [&](int rank) {
    auto node = node::Node::create(std::make_unique<comm::ThreadExchange>(table, rank), *device::open_host_executor(),
                                   {rank, path::machine_of_the_host_executor(), std::chrono::seconds(60)});
    ASSERT_TRUE(node.ok()) << node.status().text();
    coll::Collectives collectives(**node);
    Hierarchical::Options options;
    if (rank == 1) options.part = std::uint64_t{1} << 50;
    const auto all = Hierarchical::create(**node, collectives, 2, 0, {}, options);
    EXPECT_EQ(all.status().code(), Code::out_of_memory) << all.status().text();
    EXPECT_TRUE((*node)->group().exchange().barrier().ok());
  });
}

}  // namespace
}  // namespace sennit::net
