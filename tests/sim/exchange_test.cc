#include "sim/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/known.h"
#include "place/pattern.h"
#include "place/search.h"
#include "places.h"
#include "sim/choose_map.h"
#include "sim/costs.h"

namespace sennit::sim {
namespace {

machine::Machine shipped_machine(const std::string& name) {
  return machine::known_machine(places::source("machines/" + name + ".json"), "").value().machine;
}

/// By hand: a message of 1 MB over 12.5 GB/s takes 80 µs, and what comes before it.
TEST(Exchange, TakesWhatItsLinksAndMessagesTake) {
  const machine::Machine machine = shipped_machine("helios");
  const auto fabric = Fabric::create(machine, 1, Costs{}.memory_gbps).value();
  const auto us = [&](std::vector<place::Talk> talks, ExchangeCosts costs = {}) {
    const std::vector<int> places = {fabric.network().index("gpu0"), fabric.network().index("gpu1"),
                                     fabric.network().index("gpu8")};
    return exchange(fabric, talks, places, costs).value().us;
  };
  EXPECT_NEAR(us({{0, 1, 1e6, 1}}), 83.5, 1e-6);
  EXPECT_NEAR(us({{0, 1, 1e6, 1}, {1, 0, 1e6, 1}}), 83.5, 1e-6) << "both ways at once";
  ExchangeCosts turns;
  turns.streams = 1;
  EXPECT_NEAR(us({{0, 1, 1e6, 1}, {0, 1, 1e6, 1}}, turns), 167, 1e-6) << "one after the other";
  EXPECT_NEAR(us({{0, 1, 1e6, 1}, {0, 1, 1e6, 1}}), 163.5, 1e-6) << "the second is called for while the first moves";
  EXPECT_NEAR(us({{0, 0, 1e6, 1}}), 4.5, 1e-6) << "within a GPU, at 1000 GB/s";
  EXPECT_NEAR(us({{0, 1, 1e6, 10}}), 115, 1e-6) << "ten messages";
  // To the other socket by way of host memory, in four chunks: the last one is on its way alone.
  EXPECT_NEAR(us({{0, 2, 1e6, 1}}, turns), 83.5 + 83.5 / 4, 1e-6);
  ExchangeCosts eager;
  eager.short_bytes = 4096;
  eager.short_us = 5;
  EXPECT_NEAR(us({{0, 1, 1250, 1}}, eager), 2 * 5.1, 1e-6) << "a short one goes through host memory";
}

/// Of maps that a metric calls alike the simulator takes the fastest; with nothing to gain nothing is advised.
TEST(ChooseMap, TheFastestIsChosenAndAdvisedOnlyBeyondTheModelsError) {
  const machine::Machine machine = shipped_machine("helios");
  const auto fabric = Fabric::create(machine, 1, Costs{}.memory_gbps).value();
  const auto graph = place::DeviceGraph::create(fabric.network()).value();
  const place::Slots slots{1, 16, 1};
  place::Traffic traffic(16);
  for (int rank = 0; rank < 8; ++rank) traffic.add(rank, rank + 8, 1 << 20);
  const auto problem = place::Problem::create(traffic, graph, slots, place::Metric::contention).value();
  place::Best best;
  place::search(problem, {}, best);
  std::vector<place::Found> maps = best.all();
  maps.insert(maps.begin(), {problem.identity(), {}});
  const auto chosen = choose_map(fabric, graph, slots, traffic, problem.identity(), maps);
  ASSERT_TRUE(chosen.ok());
  EXPECT_GT(chosen->index, 0u);
  EXPECT_TRUE(chosen->is_advised());
  EXPECT_EQ(chosen->us.front(), chosen->before.us);
  for (const double us : chosen->us) EXPECT_GE(us * (1 + 1e-9), chosen->after.us);
  const auto same = choose_map(fabric, graph, slots, traffic, problem.identity(), {maps.front()});
  EXPECT_FALSE(same->is_advised());
}

}  // namespace
}  // namespace sennit::sim
