// Nodes are groups of threads of this process; rails are tables at which threads meet.
#include "net/hierarchical.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "comm/thread_exchange.h"
#include "path/machines.h"

namespace sennit::net {
namespace {

/// What a thread does as one rank of a node among several.
struct Rank {
  int node, rank, nodes, ranks;
  int number() const { return node * ranks + rank; }
  int all() const { return nodes * ranks; }
};

class TableRail final : public Rail {
 public:
  TableRail(comm::Table& table, int node) : table_(table), node_(node) {}
  Status all_gather(std::byte* rows, std::uint64_t bytes) override { return gather(rows, bytes, node_); }
  Status gather(std::byte* rows, std::uint64_t bytes, int root) override {
    const auto all = table_.gather(node_, {rows + row(node_, bytes), bytes});
    for (int node = 0; node_ == root && node < table_.size(); ++node)
      std::memcpy(rows + row(node, bytes), all[static_cast<std::size_t>(node)].data(), bytes);
    return {};
  }
  Status scatter(std::byte* rows, std::uint64_t bytes, int root) override {
    const auto all = table_.gather(node_, {rows, node_ == root ? row(table_.size(), bytes) : 0});
    if (node_ != root)
      std::memcpy(rows + row(node_, bytes), all[static_cast<std::size_t>(root)].data() + row(node_, bytes), bytes);
    return {};
  }
  Status all_to_all(const std::byte* from, std::byte* to, std::uint64_t bytes) override {
    const auto all = table_.gather(node_, {from, row(table_.size(), bytes)});
    for (int node = 0; node < table_.size(); ++node)
      if (node != node_)
        std::memcpy(to + row(node, bytes), all[static_cast<std::size_t>(node)].data() + row(node_, bytes), bytes);
    return {};
  }
  Status swap(const std::byte* sent, std::uint64_t bytes_sent, int to, std::byte* received,
              std::uint64_t bytes_received, int from) override {
    const auto all =
        table_.gather(node_, comm::Writer().number(static_cast<std::uint64_t>(to)).data({sent, bytes_sent}).take());
    comm::Reader message(all[static_cast<std::size_t>(from)]);
    EXPECT_EQ(message.number(), static_cast<std::uint64_t>(node_));
    const auto came = message.data();
    EXPECT_EQ(came.size(), bytes_received);
    if (!came.empty()) std::memcpy(received, came.data(), std::min<std::uint64_t>(came.size(), bytes_received));
    return {};
  }
  Status all_reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction) override {
    const auto all = table_.gather(node_, {data, bytes});
    add(all, data, bytes, reduction);
    return {};
  }
  Status reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction, int root) override {
    const auto all = table_.gather(node_, {data, bytes});
    std::memset(data, 0xEE, bytes);
    if (node_ == root) add(all, data, bytes, reduction);
    return {};
  }
  Status broadcast(std::byte* data, std::uint64_t bytes, int root) override {
    const auto all = table_.gather(node_, {data, bytes});
    std::memcpy(data, all[static_cast<std::size_t>(root)].data(), bytes);
    return {};
  }

 private:
  static std::uint64_t row(int node, std::uint64_t bytes) { return static_cast<std::uint64_t>(node) * bytes; }
  static void add(const std::vector<comm::Bytes>& all, std::byte* to, std::uint64_t bytes,
                  const device::Reduction& reduction) {
    std::memcpy(to, all.front().data(), bytes);
    for (std::size_t i = 1; i < all.size(); ++i)
      device::reduce_on_host(reduction, {{to, all[i].data()}, 2, {to}, 1}, bytes, {});
  }

  comm::Table& table_;
  const int node_;
};

/// So short that messages have several chunks, and that GPUs add all but the shortest parts.
constexpr Hierarchical::Options kShort{64 << 10, 4 << 10};

/// Runs work(rank, collective) on every rank of `nodes` nodes of `ranks` ranks.
void on_all(int nodes, int ranks, Way way, const std::function<void(const Rank&, path::Node&, Hierarchical&)>& work,
            Hierarchical::Options options = kShort) {
  std::vector<std::unique_ptr<comm::Table>> of_node, of_rail;
  for (int i = 0; i < nodes; ++i) of_node.push_back(std::make_unique<comm::Table>(ranks));
  for (int i = 0; i < ranks; ++i) of_rail.push_back(std::make_unique<comm::Table>(nodes));
  comm::on_ranks(nodes * ranks, [&](int number) {
    const Rank mine{number / ranks, number % ranks, nodes, ranks};
    auto& table = *of_node[static_cast<std::size_t>(mine.node)];
    auto node =
        path::Node::create(std::make_unique<comm::ThreadExchange>(table, mine.rank), *device::open_host_executor(),
                           {mine.rank, path::machine_of_the_host_executor(), std::chrono::seconds(60)});
    ASSERT_TRUE(node.ok()) << node.status().text();
    coll::Collectives collectives(**node);
    TableRail rail(*of_rail[static_cast<std::size_t>(mine.rank)], mine.node);
    const bool has_rail = way == Way::rails || mine.rank == 0;
    auto all = Hierarchical::create(**node, collectives, nodes, mine.node, has_rail ? &rail : nullptr, way, options);
    ASSERT_TRUE(all.ok()) << all.status().text();
    work(mine, **node, **all);
    EXPECT_TRUE(collectives.close().ok());
    EXPECT_TRUE((*node)->group().exchange().barrier().ok());
  });
}

device::Memory numbers(path::Node& node, std::uint64_t count, const std::function<float(std::uint64_t)>& value) {
  auto memory =
      std::move(*node.executor().allocate(node.device(), std::max<std::uint64_t>(count, 1) * sizeof(float)));
  for (std::uint64_t i = 0; i < count; ++i) reinterpret_cast<float*>(memory.data())[i] = value(i);
  return memory;
}
float given(int number, std::uint64_t i) {
  return static_cast<float>(number * 7 + static_cast<int>(i % 1000));
}
float sum(const Rank& mine, std::uint64_t i) {
  float all = 0;
  for (int number = 0; number < mine.all(); ++number) all += given(number, i);
  return all;
}
void expect(const device::Memory& memory, std::uint64_t count, const std::function<float(std::uint64_t)>& value) {
  for (std::uint64_t i = 0; i < count; ++i)
    ASSERT_EQ(reinterpret_cast<const float*>(memory.data())[i], value(i)) << "number " << i;
}

const device::Reduction kSum{device::Type::float32, device::Operator::sum, 1, 1, 1};
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
    on_all(nodes, ranks, way, [](const Rank& mine, path::Node& node, Hierarchical& all) {
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
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, path::Node& node, Hierarchical& all) {
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

TEST(Hierarchical, BroadcastsFromAnyRank) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  on_all(2, 3, Way::rails, [](const Rank& mine, path::Node& node, Hierarchical& all) {
    for (const std::uint64_t count : kCounts)
      for (int root = 0; root < mine.all(); ++root) {
        const auto data = numbers(node, count, [&](auto i) { return given(mine.number(), i); });
        ASSERT_TRUE(all.broadcast(data.data(), count * 4, {root / mine.ranks, root % mine.ranks}).ok());
        expect(data, count, [&](auto i) { return given(root, i); });
      }
  });
}

// Of one rank: a number, one chunk, several, and with a rest that is no whole grain.
const std::uint64_t kRows[] = {1, 1024, 20'003};

/// Ranks in an order that is not that of nodes: backwards on the even ones.
std::vector<Place> out_of_order(const Rank& mine) {
  std::vector<Place> places;
  for (int rank = 0; rank < mine.ranks; ++rank)
    for (int node = mine.nodes; node-- > 0;) places.push_back({node, node % 2 == 0 ? mine.ranks - 1 - rank : rank});
  return places;
}
std::size_t number_of(const std::vector<Place>& places, const Rank& mine) {
  const auto found = std::ranges::find_if(
      places, [&](const Place& place) { return place.node == mine.node && place.rank == mine.rank; });
  return static_cast<std::size_t>(found - places.begin());
}

const std::pair<int, int> kShapes[] = {{2, 2}, {3, 1}, {3, 2}, {2, 3}};

TEST(Hierarchical, GathersInTheOrderOfRanks) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : kShapes)
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, path::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine);
      for (const std::uint64_t count : kRows)
        for (const bool in_place : {false, true}) {
          const auto value = [&](std::uint64_t i) { return given(static_cast<int>(i / count), i % count); };
          const auto input = numbers(node, count, [&](auto i) { return given(static_cast<int>(own), i); });
          const auto output = numbers(node, count * places.size(),
                                      [&](auto i) { return in_place && i / count == own ? value(i) : -1.0f; });
          const std::byte* const from = in_place ? output.data() + own * count * 4 : input.data();
          ASSERT_TRUE(all.all_gather(from, output.data(), count * 4, places).ok());
          expect(output, count * places.size(), value);
          expect(input, count, [&](auto i) { return given(static_cast<int>(own), i); });
        }
    });
}

TEST(Hierarchical, GathersMessagesOfEveryLength) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : kShapes)
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, path::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine), size = places.size();
      // Apart from each other, and backwards; one is empty.
      const auto count = [](std::uint64_t rank) { return rank == 1 ? 0 : 20'003 - rank * 3000; };
      std::vector<std::uint64_t> lengths, begins(size);
      std::uint64_t total = 3;
      for (std::uint64_t rank = 0; rank < size; ++rank) lengths.push_back(count(rank) * 4);
      for (std::uint64_t rank = size; rank-- > 0; total += count(rank) + 1) begins[rank] = total * 4;
      std::vector<float> expected(total, -1.0f);
      for (std::uint64_t rank = 0; rank < size; ++rank)
        for (std::uint64_t i = 0; i < count(rank); ++i)
          expected[begins[rank] / 4 + i] = given(static_cast<int>(rank), i);
      const auto input = numbers(node, count(own), [&](auto i) { return given(static_cast<int>(own), i); });
      const auto output = numbers(node, total, [](auto) { return -1.0f; });
      ASSERT_TRUE(all.all_gather_v(input.data(), output.data(), lengths, begins, places).ok());
      expect(output, total, [&](auto i) { return expected[i]; });
    });
}

TEST(Hierarchical, GathersAtAnyRankAndScattersFromIt) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : kShapes)
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, path::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine);
      for (const std::uint64_t count : kRows)
        for (std::uint64_t root = 0; root < places.size(); ++root) {
          const bool here = own == root, in_place = root % 2 == 1;
          const std::uint64_t total = count * places.size();
          const auto value = [&](std::uint64_t i) { return given(static_cast<int>(i / count), i % count); };
          const auto part = numbers(node, count, [&](auto i) { return value(own * count + i); });
          const auto whole = numbers(node, total, [&](auto i) { return i / count == own ? value(i) : -1.0f; });
          std::byte* const place = here && in_place ? whole.data() + own * count * 4 : part.data();
          ASSERT_TRUE(all.gather(place, here ? whole.data() : nullptr, count * 4, places[root], places).ok());
          expect(whole, total, [&](auto i) { return here || i / count == own ? value(i) : -1.0f; });
          // And back, where each rank's part was lost.
          if (!here || !in_place) std::memset(part.data(), 0xEE, count * 4);
          ASSERT_TRUE(all.scatter(here ? whole.data() : nullptr, place, count * 4, places[root], places).ok());
          expect(part, count, [&](auto i) { return value(own * count + i); });
          expect(whole, total, [&](auto i) { return here || i / count == own ? value(i) : -1.0f; });
        }
    });
}

TEST(Hierarchical, ReduceScattersInTheOrderOfRanks) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : kShapes)
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, path::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine);
      for (const std::uint64_t count : kRows)
        for (const bool in_place : {false, true}) {
          const std::uint64_t total = count * places.size();
          const auto input = numbers(node, total, [&](auto i) { return given(mine.number(), i); });
          const auto output = numbers(node, count + 1, [](auto) { return -1.0f; });
          std::byte* const to = in_place ? input.data() : output.data();
          ASSERT_TRUE(all.reduce_scatter(input.data(), to, count * 4, kSum, places).ok());
          expect(in_place ? input : output, count, [&](auto i) { return sum(mine, own * count + i); });
          if (in_place) continue;
          expect(input, total, [&](auto i) { return given(mine.number(), i); });
          EXPECT_EQ(reinterpret_cast<const float*>(output.data())[count], -1.0f) << "behind the result";
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
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, path::Node& node, Hierarchical& all) {
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
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, path::Node& node, Hierarchical& all) {
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
  on_all(2, 2, Way::rails, [](const Rank& mine, path::Node&, Hierarchical& all) {
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
    on_all(nodes, 1, Way::rails, [&](const Rank& mine, path::Node& node, Hierarchical& all) {
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
    auto node = path::Node::create(std::make_unique<comm::ThreadExchange>(table, rank), *device::open_host_executor(),
                                   {rank, path::machine_of_the_host_executor(), std::chrono::seconds(60)});
    ASSERT_TRUE(node.ok()) << node.status().text();
    coll::Collectives collectives(**node);
    Hierarchical::Options options;
    if (rank == 1) options.part = std::uint64_t{1} << 50;
    const auto all = Hierarchical::create(**node, collectives, 2, 0, nullptr, Way::rails, options);
    EXPECT_EQ(all.status().code(), Code::out_of_memory) << all.status().text();
    EXPECT_TRUE((*node)->group().exchange().barrier().ok());
  });
}

}  // namespace
}  // namespace sennit::net
