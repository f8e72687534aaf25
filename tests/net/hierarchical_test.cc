// Nodes are groups of threads of this process; rails are tables at which threads meet.
#include "net/hierarchical.h"

#include <gtest/gtest.h>

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
  static void add(const std::vector<comm::Bytes>& all, std::byte* to, std::uint64_t bytes,
                  const device::Reduction& reduction) {
    device::Operands operands;
    for (const comm::Bytes& one : all) operands.from[operands.sources++] = one.data();
    operands.to[operands.destinations++] = to;
    device::reduce_on_host(reduction, operands, bytes, {});
  }

  comm::Table& table_;
  const int node_;
};

constexpr std::uint64_t kSmallChunk = 64 << 10;

/// Runs work(rank, collective) on every rank of `nodes` nodes of `ranks` ranks.
void on_all(int nodes, int ranks, Way way, const std::function<void(const Rank&, path::Node&, Hierarchical&)>& work) {
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
    Hierarchical all(**node, collectives, mine.node, has_rail ? &rail : nullptr, way, kSmallChunk);
    work(mine, **node, all);
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
  for (const auto& [nodes, ranks, way] :
       {std::tuple(2, 2, Way::rails), {3, 1, Way::rails}, {2, 3, Way::rails}, {2, 2, Way::leaders}})
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
  on_all(2, 2, Way::rails, [](const Rank& mine, path::Node& node, Hierarchical& all) {
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

}  // namespace
}  // namespace sennit::net
