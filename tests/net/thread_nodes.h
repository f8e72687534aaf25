// Nodes are groups of threads of this process; rails are tables at which threads meet.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "comm/thread_exchange.h"
#include "net/hierarchical.h"
#include "path/machines.h"

namespace sennit::net {

/// What a thread does as one rank of a node among several.
struct Rank {
  int node, rank, nodes, ranks;
  int first, total;  // the node's first rank of all, and how many those are
  int number() const { return first + rank; }
  int all() const { return total; }
};

class TableRail : public Rail {
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
inline constexpr Hierarchical::Options kShort{64 << 10, 4 << 10};

/// Runs work(rank, collective) on every rank of nodes with these numbers of ranks. `leaders`: of each node, by
/// adapters.
template <class LeaderRail = TableRail>  // of those that lead broadcasts
void on_nodes(const std::vector<int>& sizes, Way way, const std::vector<std::vector<int>>& leaders,
              const std::function<void(const Rank&, node::Node&, Hierarchical&)>& work,
              Hierarchical::Options options = kShort) {
  const int nodes = static_cast<int>(sizes.size());
  const bool alike = std::ranges::all_of(sizes, [&](int size) { return size == sizes.front(); });
  std::vector<std::unique_ptr<comm::Table>> of_node, of_rail, of_leaders;
  for (const int size : sizes) of_node.push_back(std::make_unique<comm::Table>(size));
  for (int i = 0; i < std::ranges::max(sizes); ++i) {
    of_rail.push_back(std::make_unique<comm::Table>(nodes));
    of_leaders.push_back(std::make_unique<comm::Table>(nodes));
  }
  std::vector<Rank> all_ranks;
  for (int node = 0, first = 0; node < nodes; first += sizes[static_cast<std::size_t>(node++)])
    for (int rank = 0; rank < sizes[static_cast<std::size_t>(node)]; ++rank)
      all_ranks.push_back({node, rank, nodes, sizes[static_cast<std::size_t>(node)], first,
                           std::accumulate(sizes.begin(), sizes.end(), 0)});
  comm::on_ranks(static_cast<int>(all_ranks.size()), [&](int number) {
    const Rank mine = all_ranks[static_cast<std::size_t>(number)];
    auto& table = *of_node[static_cast<std::size_t>(mine.node)];
    auto node =
        node::Node::create(std::make_unique<comm::ThreadExchange>(table, mine.rank), *device::open_host_executor(),
                           {mine.rank, path::machine_of_the_host_executor(), std::chrono::seconds(60)});
    ASSERT_TRUE(node.ok()) << node.status().text();
    coll::Collectives collectives(**node);
    Rails rails;
    rails.way = way;
    rails.alike = alike;
    TableRail rail(*of_rail[static_cast<std::size_t>(mine.rank)], mine.node);
    if (rails.divide() || mine.rank == 0) rails.rail = &rail;
    std::optional<LeaderRail> leader_rail;
    if (way == Way::adapters) {
      rails.leaders = leaders[static_cast<std::size_t>(mine.node)];
      const auto lead = std::ranges::find(rails.leaders, mine.rank) - rails.leaders.begin();
      if (lead < std::ssize(rails.leaders))
        rails.leader_rail = &leader_rail.emplace(*of_leaders[static_cast<std::size_t>(lead)], mine.node);
    }
    auto all = Hierarchical::create(**node, collectives, nodes, mine.node, rails, options);
    ASSERT_TRUE(all.ok()) << all.status().text();
    work(mine, **node, **all);
    const Status closed = collectives.close(), met = (*node)->group().exchange().barrier();
    EXPECT_TRUE((closed.ok() && met.ok()) || (*node)->group().failed()) << closed.text() << met.text();
  });
}

/// Runs it on `nodes` nodes of `ranks` ranks.
inline void on_all(int nodes, int ranks, Way way,
                   const std::function<void(const Rank&, node::Node&, Hierarchical&)>& work,
                   Hierarchical::Options options = kShort) {
  on_nodes(std::vector<int>(static_cast<std::size_t>(nodes), ranks), way, {}, work, options);
}

inline device::Memory numbers(node::Node& node, std::uint64_t count,
                              const std::function<float(std::uint64_t)>& value) {
  auto memory =
      std::move(*node.executor().allocate(node.device(), std::max<std::uint64_t>(count, 1) * sizeof(float)));
  for (std::uint64_t i = 0; i < count; ++i) reinterpret_cast<float*>(memory.data())[i] = value(i);
  return memory;
}
inline float given(int number, std::uint64_t i) {
  return static_cast<float>(number * 7 + static_cast<int>(i % 1000));
}
inline float sum(const Rank& mine, std::uint64_t i) {
  float all = 0;
  for (int number = 0; number < mine.all(); ++number) all += given(number, i);
  return all;
}
inline void expect(const device::Memory& memory, std::uint64_t count,
                   const std::function<float(std::uint64_t)>& value) {
  for (std::uint64_t i = 0; i < count; ++i)
    ASSERT_EQ(reinterpret_cast<const float*>(memory.data())[i], value(i)) << "number " << i;
}

inline const device::Reduction kSum{device::Type::float32, device::Operator::sum, 1, 1, 1};
// Of one rank: a number, one chunk, several, and with a rest that is no whole grain.
inline const std::uint64_t kRows[] = {1, 1024, 20'003};

/// Ranks in an order that is not that of nodes: backwards on the even ones.
inline std::vector<Place> out_of_order(const Rank& mine) {
  std::vector<Place> places;
  for (int rank = 0; rank < mine.ranks; ++rank)
    for (int node = mine.nodes; node-- > 0;) places.push_back({node, node % 2 == 0 ? mine.ranks - 1 - rank : rank});
  return places;
}
inline std::size_t number_of(const std::vector<Place>& places, const Rank& mine) {
  const auto found = std::ranges::find_if(
      places, [&](const Place& place) { return place.node == mine.node && place.rank == mine.rank; });
  return static_cast<std::size_t>(found - places.begin());
}

inline const std::pair<int, int> kShapes[] = {{2, 2}, {3, 1}, {3, 2}, {2, 3}};

}  // namespace sennit::net
