#include "place/pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "place/exact.h"
#include "place/made_up.h"
#include "place/solve.h"

namespace sennit::place {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Eight GPUs, four on each of two sockets.
struct Pinned : testing::Test {
  machine::Machine machine = shipped("dgx-1v");
  path::Network network{machine};
  DeviceGraph graph = DeviceGraph::create(network).value();
  Slots slots{1, 8, 1};

  std::string refused(const std::string& text) { return pins_of({text}, graph, slots).status().what(); }
  std::string refused(const std::vector<Bound>& bound) {
    return pins_to_sockets(bound, graph, slots, {}).status().what();
  }
};

std::vector<Bound> all_on(int ranks, std::vector<int> numa_nodes) {
  return std::vector<Bound>(std::size_t(ranks), Bound{"a", std::move(numa_nodes)});
}

TEST_F(Pinned, AreReadAsTheyAreWritten) {
  slots = {3, 8, 2};
  const auto pins = pins_of({"3=gpu1", "4=2/gpu7", "0-1=host1"}, graph, slots).value();
  ASSERT_EQ(pins.size(), 4u);
  EXPECT_EQ(pins[0].rank, 3);
  EXPECT_THAT(pins[0].slots, ElementsAre(1, 9)) << "two ranks a GPU";
  EXPECT_EQ(pins[1].rank, 4);
  EXPECT_THAT(pins[1].slots, ElementsAre(39, 47));
  EXPECT_EQ(pins[3].rank, 1);
  EXPECT_THAT(pins[3].slots, ElementsAre(4, 5, 6, 7, 12, 13, 14, 15));
}

TEST_F(Pinned, AreRefusedWithTheReason) {
  EXPECT_THAT(refused("3"), HasSubstr("there is no '='"));
  EXPECT_THAT(refused("x=gpu1"), HasSubstr("'x' is no rank"));
  EXPECT_THAT(refused("3-1=gpu1"), HasSubstr("'3-1' is no rank"));
  EXPECT_THAT(refused("3=1/gpu1"), HasSubstr("'1' is none of 1 nodes"));
  EXPECT_THAT(refused("3=gpu9"), HasSubstr("no GPU 'gpu9'"));
  EXPECT_THAT(refused("3=nvswitch0"), HasSubstr("no GPU 'nvswitch0'"));
}

TEST_F(Pinned, RanksStayOnTheSocketThatTheyWereBoundTo) {
  auto bound = all_on(8, {1});
  for (const int rank : {1, 3, 5, 7}) bound[std::size_t(rank)].numa_nodes = {0};
  bound[6].numa_nodes = {};
  const auto kept = pins_to_sockets(bound, graph, slots, std::vector<Pin>{{0, {6}}}).value();
  EXPECT_EQ(kept.words, "6 of 8 ranks stay on the socket that their launcher bound them to");
  ASSERT_EQ(kept.pins.size(), 6u) << "without the one that is pinned, and the one that nobody has bound";
  EXPECT_EQ(kept.pins[0].rank, 1);
  EXPECT_THAT(kept.pins[0].slots, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(pins_to_sockets(all_on(8, {}), graph, slots, {})->words,
            "no rank was bound to a socket: each may go anywhere");
}

TEST_F(Pinned, RanksOfAnotherHostStayOnItsNode) {
  slots = {2, 8, 1};
  std::vector<Bound> bound = all_on(2, {1});
  bound[1].host = "b";
  const auto kept = pins_to_sockets(bound, graph, slots, {}).value();
  EXPECT_THAT(kept.pins[1].slots, ElementsAre(12, 13, 14, 15));
}

TEST_F(Pinned, SocketsThatCannotBeKeptAreSaidWithTheRank) {
  EXPECT_THAT(refused(std::vector<Bound>()), HasSubstr("is known from a profile"));
  EXPECT_THAT(refused(all_on(5, {0})),
              HasSubstr("rank 4 was bound to NUMA node 0 of a, whose GPUs have room for 4 ranks"));
  EXPECT_THAT(refused(all_on(1, {2, 3})),
              HasSubstr("rank 0 was bound to NUMA nodes 2, 3 of a, and machine 'dgx-1v'"));
  std::vector<Bound> bound = all_on(2, {1});
  bound[1].host = "b";
  EXPECT_THAT(refused(bound), HasSubstr("rank 1 ran on b, which is host number 2 of the profile"));
}

/// The best of all maps in which everybody is where it may be; by brute force.
TEST(PinnedProblems, AreSolvedAsByBruteForce) {
  Random random(77);
  const machine::Machine machine = shipped("dgx-1v");
  const path::Network network(machine);
  for (int i = 0; i < cases(60, 3000); ++i) {
    const int slots = 4 + 2 * random.below(2), ranks = slots - random.below(2);
    std::vector<int> gpus;
    for (int gpu = 0; gpu < slots; ++gpu) gpus.push_back(network.index("gpu" + std::to_string((gpu * 3) % 8)));
    const auto graph = DeviceGraph::create(network, gpus).value();
    const Traffic traffic = random_traffic(ranks, 50, random);
    // Sockets of some ranks, and one that has one place.
    std::vector<Pin> pins;
    for (int rank = 0; rank < ranks; ++rank) {
      if (random.below(3) == 0) continue;
      Pin pin{rank, {}};
      for (int slot = 0; slot < slots; ++slot)
        if (slot % 2 == rank % 2) pin.slots.push_back(slot);
      if (pins.empty()) pin.slots.resize(1);
      pins.push_back(std::move(pin));
    }
    const Metric metric = random.below(2) == 0 ? Metric::contention : Metric::distance;
    auto problem = Problem::create(traffic, graph, {1, slots, 1}, metric, pins);
    ASSERT_TRUE(problem.ok()) << problem.status().text();
    const auto is_kept = [&](const Map& map) {
      return std::ranges::all_of(pins, [&](const Pin& pin) {
        return std::ranges::find(pin.slots, map[std::size_t(pin.rank)]) != pin.slots.end();
      });
    };
    Map map(static_cast<std::size_t>(slots));
    std::iota(map.begin(), map.end(), 0);
    std::optional<Cost> least;
    do {
      if (const Cost cost = problem->cost_of(map); is_kept(map) && (!least || less(cost, *least))) least = cost;
    } while (std::ranges::next_permutation(map).found);
    Best best;
    search(*problem, {}, best);
    EXPECT_TRUE(prove(*problem, kProofWork, best).proved) << i;
    EXPECT_FALSE(less(*least, best.first().cost)) << i;
    for (const Found& each : best.all()) EXPECT_TRUE(is_kept(each.map)) << i;
  }
}

/// On several nodes, too, whether all are looked at together or one by one.
TEST(PinnedProblems, OfManyNodesKeepWhatStays) {
  const machine::Machine machine = shipped("dgx-h100");
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network).value();
  for (const int nodes : {2, 16}) {
    const Slots slots{nodes, 8, 1};
    const Traffic traffic = pattern("ring:" + std::to_string(slots.size()));
    Question question;
    question.traffic = &traffic;
    question.graph = &graph;
    question.slots = slots;
    question.pins = pins_of({"0-3=1/host1", "4=host0", "5=gpu2"}, graph, slots).value();
    const auto solution = solve(question);
    ASSERT_TRUE(solution.ok()) << solution.status().text();
    for (const Found& each : solution->best)
      for (const Pin& pin : question.pins) EXPECT_THAT(pin.slots, testing::Contains(each.map[std::size_t(pin.rank)]));
  }
}

}  // namespace
}  // namespace sennit::place
