#include <gtest/gtest.h>

#include "net/thread_nodes.h"

namespace sennit::net {
namespace {

// Less than a grain of every leader, one chunk, and several with a rest that cannot be divided.
const std::uint64_t kBroadcast[] = {31, 1024, 100'003};

struct Nodes {
  std::vector<int> sizes;
  Way way = Way::rails;
  std::vector<std::vector<int>> leaders;  // by adapters
};

/// Returns the place of a rank of all.
Place place_of(int number, const std::vector<int>& sizes) {
  Place place{0, number};
  while (place.rank >= sizes[static_cast<std::size_t>(place.node)])
    place.rank -= sizes[static_cast<std::size_t>(place.node++)];
  return place;
}

void broadcast_from_every_rank(const Nodes& nodes) {
  on_nodes(nodes.sizes, nodes.way, nodes.leaders, [&](const Rank& mine, node::Node& node, Hierarchical& all) {
    for (const std::uint64_t count : kBroadcast)
      for (int root = 0; root < mine.all(); ++root) {
        const auto data = numbers(node, count, [&](auto i) { return given(mine.number(), i); });
        ASSERT_TRUE(all.broadcast(data.data(), count * 4, place_of(root, nodes.sizes)).ok());
        expect(data, count, [&](auto i) { return given(root, i); });
      }
    // A sum has other parts, in the memory of the same chunks.
    const auto data = numbers(node, kBroadcast[2], [&](auto i) { return given(mine.number(), i); });
    ASSERT_TRUE(all.all_reduce(data.data(), data.data(), kBroadcast[2] * 4, kSum).ok());
    expect(data, kBroadcast[2], [&](auto i) { return sum(mine, i); });
  });
}

TEST(HierarchicalBroadcast, FromAnyRankByRails) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer: see tests/interop for processes";
#endif
  broadcast_from_every_rank({{3, 3}, Way::rails, {}});
}

TEST(HierarchicalBroadcast, FromAnyRankByLeaders) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  broadcast_from_every_rank({{1, 3}, Way::leaders, {}});
}

TEST(HierarchicalBroadcast, FromAnyRankByAdapters) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const Nodes& nodes : {Nodes{{3, 3}, Way::adapters, {{0, 2}, {2, 1}}},
                             {{4, 2}, Way::adapters, {{1, 3}, {0, 1}}},
                             {{3, 1}, Way::adapters, {{2}, {0}}},
                             {{1, 2, 3}, Way::adapters, {{0}, {1}, {1}}}})
    broadcast_from_every_rank(nodes);
}

TEST(HierarchicalBroadcast, GoesAsItsOperationDoes) {
  on_nodes({2, 1}, Way::adapters, {{1}, {0}}, [](const Rank&, node::Node&, Hierarchical& all) {
    EXPECT_EQ(all.way(coll::Operation::broadcast), Way::adapters);
    EXPECT_EQ(all.way(coll::Operation::allreduce), Way::leaders);
    EXPECT_EQ(all.leaders(), 1u);
  });
  on_nodes({2, 2}, Way::adapters, {{1}, {0}}, [](const Rank&, node::Node&, Hierarchical& all) {
    EXPECT_EQ(all.way(coll::Operation::allreduce), Way::rails);
  });
}

TEST(HierarchicalBroadcast, OfNothingAndAmongNodesOfOneTwoAndFour) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  on_nodes({4, 1, 2}, Way::adapters, {{2}, {0}, {1}}, [](const Rank& mine, node::Node& node, Hierarchical& all) {
    EXPECT_TRUE(all.broadcast(nullptr, 0, {0, 1}).ok());
    const auto data = numbers(node, 20'001, [&](auto i) { return given(mine.number(), i); });
    ASSERT_TRUE(all.broadcast(data.data(), 20'001 * 4, {0, 1}).ok());
    expect(data, 20'001, [&](auto i) { return given(1, i); });
  });
}

/// A network that is gone at the second call.
class GoneRail final : public TableRail {
 public:
  using TableRail::TableRail;
  Status broadcast(std::byte* data, std::uint64_t bytes, int root) override {
    if (++calls_ == 2) return Status(Code::system_error, "the network is gone");
    return TableRail::broadcast(data, bytes, root);
  }

 private:
  int calls_ = 0;
};

TEST(HierarchicalBroadcast, AFailedRailOfALeaderIsTheErrorOfAllRanksOfItsNode) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  std::vector<std::string> told(4);
  on_nodes<GoneRail>({3, 1}, Way::adapters, {{1}, {0}}, [&](const Rank& mine, node::Node& node, Hierarchical& all) {
    const auto data = numbers(node, 100'003, [](auto) { return 0.0f; });
    const auto status = all.broadcast(data.data(), 100'003 * 4, {0, 2});
    EXPECT_FALSE(status.ok()) << mine.number();
    told[static_cast<std::size_t>(mine.number())] = status.text();
  });
  for (const std::string& text : told) EXPECT_NE(text.find("the network is gone"), std::string::npos) << text;
}

}  // namespace
}  // namespace sennit::net
