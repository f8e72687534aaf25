// What the metric "contention" counts is what the fluid simulator's links carry: byte for byte, on every machine that
// is shipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>

#include "machine/known.h"
#include "place/nodes.h"
#include "place/pattern.h"
#include "place/search.h"
#include "places.h"
#include "sim/choose_map.h"
#include "sim/costs.h"
#include "sim/exchange.h"

namespace sennit::sim {
namespace {

using place::Traffic;

std::vector<std::filesystem::path> machines() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(places::source("machines")))
    if (entry.path().extension() == ".json") found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::string stem(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
}

/// Bytes that differ from pair to pair, in whole numbers that a message of four chunks divides.
std::vector<Traffic> traffics(int ranks) {
  std::vector<Traffic> all = {place::parse_pattern("ring:" + std::to_string(ranks), 1 << 20).value(),
                              place::parse_pattern("all-pairs:" + std::to_string(ranks), 4000).value()};
  if (ranks % 2 == 0)
    all.push_back(place::parse_pattern("2d-torus:" + std::to_string(ranks / 2) + "x2,w=3", 1 << 16).value());
  place::Random random(41);
  Traffic some(ranks);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to && random.below(3) == 0) some.add(from, to, 4.0 * (1 + random.below(1 << 20)));
  all.push_back(std::move(some));
  return all;
}

place::Map some_map(int slots, place::Random& random) {
  place::Map map(static_cast<std::size_t>(slots));
  std::iota(map.begin(), map.end(), 0);
  for (int i = slots - 1; i > 0; --i) std::swap(map[std::size_t(i)], map[std::size_t(random.below(i + 1))]);
  return map;
}

class ContentionLoads : public testing::TestWithParam<std::filesystem::path> {
 protected:
  void expect_those_of_the_simulator(const place::Slots& slots, const Fabric& fabric,
                                     const place::DeviceGraph& graph);
};

void ContentionLoads::expect_those_of_the_simulator(const place::Slots& slots, const Fabric& fabric,
                                                    const place::DeviceGraph& graph) {
  const path::Network& network = fabric.network();
  place::Random random(7);
  for (const Traffic& traffic : traffics(slots.size())) {
    const place::Map map = some_map(slots.size(), random);
    const auto played = exchange(fabric, traffic.talks(), places_of(fabric, graph, slots, map, traffic.ranks()));
    ASSERT_TRUE(played.ok()) << played.status().text();
    // By name, of all nodes together; busy is the busiest node's.
    std::map<std::string, double> carried, counted, expected_busy, busy;
    for (const Load& load : played->loads) {
      carried[load.resource] = load.bytes;
      busy[load.resource] = load.busy * played->us;
    }
    std::map<std::pair<int, int>, double> of_node;  // node and resource
    for (const place::Talk& talk : traffic.talks()) {
      const int from = map[std::size_t(talk.from)], to = map[std::size_t(talk.to)];
      const int here = slots.node(from), there = slots.node(to), a = slots.gpu(from), b = slots.gpu(to);
      const auto count = [&](const std::vector<place::Use>& uses, int node) {
        for (const place::Use& use : uses) of_node[{node, use.resource}] += talk.bytes * use.weight;
      };
      if (here != there) {
        count(graph.uses_out(a), here);
        count(graph.uses_in(b), there);
      } else if (a != b) {
        count(graph.uses(a, b), here);
      }
    }
    double heaviest_us = 0;
    for (const auto& [where, bytes] : of_node) {
      const std::string name = network.resource_name(where.second);
      counted[name] += bytes;
      const double us = bytes / (network.capacity()[std::size_t(where.second)] * 1e3);
      expected_busy[name] = std::max(expected_busy[name], us);
      heaviest_us = std::max(heaviest_us, us);
    }
    EXPECT_EQ(carried, counted);
    for (const auto& [name, us] : expected_busy) EXPECT_NEAR(busy[name], us, 1e-9 * us) << name;
    // And that is what maps are judged by, in both forms of the problem.
    const auto cost = place::cost_of(traffic, graph, slots, place::Metric::contention, map);
    EXPECT_NEAR(cost.heaviest_us, heaviest_us, 1e-12 * heaviest_us);
    const auto problem = place::Problem::create(traffic, graph, slots, place::Metric::contention).value();
    EXPECT_NEAR(problem.cost_of(map).heaviest_us, heaviest_us, 1e-12 * heaviest_us);
  }
}

TEST_P(ContentionLoads, AreTheSimulators) {
  const machine::Machine machine = machine::known_machine(GetParam().string(), "").value().machine;
  const path::Network network(machine);
  const auto graph = place::DeviceGraph::create(network);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  if (graph->gpus() > 1) {
    const auto fabric = Fabric::create(machine, 1, Costs{}.memory_gbps).value();
    expect_those_of_the_simulator({1, graph->gpus(), 1}, fabric, *graph);
  }
  // Of two nodes, where they have NICs; of few GPUs with two ranks each, who send each other nothing over links.
  const auto fabric = Fabric::create(machine, 2, Costs{}.memory_gbps);
  if (fabric.ok()) expect_those_of_the_simulator({2, graph->gpus(), graph->gpus() <= 4 ? 2 : 1}, *fabric, *graph);
}

INSTANTIATE_TEST_SUITE_P(All, ContentionLoads, testing::ValuesIn(machines()), stem);

}  // namespace
}  // namespace sennit::sim
