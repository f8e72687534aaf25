#include "sim/fluid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "path/flow.h"

namespace sennit::sim {
namespace {

using path::Usage;

struct Planned {
  double at, bytes;
  std::vector<Usage> uses;
  double cap = kNever, weight = 1;
};

/// When each flow ends.
std::vector<double> run(const std::vector<double>& capacity, const std::vector<Planned>& planned, double epsilon = 0,
                        Fluid* kept = nullptr) {
  Fluid own(capacity, epsilon);
  Fluid& fluid = kept != nullptr ? *kept : own;
  std::vector<double> ends(planned.size(), -1);
  std::vector<std::size_t> order(planned.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return planned[i].at; });
  std::map<Fluid::Id, std::size_t> running;
  std::vector<Fluid::End> done;
  std::size_t next = 0;
  while (next < order.size() || fluid.flows() > 0) {
    const double begins = next < order.size() ? planned[order[next]].at : kNever;
    const double ending = fluid.next();
    EXPECT_FALSE(begins == kNever && ending == kNever) << "flows stand still";
    if (begins == kNever && ending == kNever) return ends;
    done.clear();
    fluid.advance(std::min(begins, ending), done);
    for (const Fluid::End& end : done) {
      ends[running.at(end.flow)] = end.time;
      running.erase(end.flow);
    }
    while (next < order.size() && planned[order[next]].at <= fluid.now()) {
      const Planned& flow = planned[order[next]];
      running[fluid.begin({flow.bytes, flow.uses, flow.cap, flow.weight})] = order[next];
      ++next;
    }
  }
  return ends;
}

/// The same in the plainest way: all rates anew, by other code, at every event.
std::vector<double> run_plainly(const std::vector<double>& capacity, const std::vector<Planned>& planned) {
  std::vector<double> ends(planned.size(), -1), left;
  for (const Planned& flow : planned) left.push_back(flow.bytes);
  double now = 0;
  for (;;) {
    std::vector<std::size_t> active;
    std::vector<path::Flow> flows;
    double until = kNever;
    for (std::size_t i = 0; i < planned.size(); ++i) {
      if (ends[i] >= 0) continue;
      if (planned[i].at > now) {
        until = std::min(until, planned[i].at);
        continue;
      }
      active.push_back(i);
      flows.push_back({planned[i].uses, planned[i].cap, planned[i].weight});
    }
    if (active.empty() && until == kNever) return ends;
    std::vector<const path::Flow*> pointers;
    for (const path::Flow& flow : flows) pointers.push_back(&flow);
    const auto rates = path::fair_rates(capacity, pointers);
    std::size_t first = planned.size();
    for (std::size_t k = 0; k < active.size(); ++k)
      if (const double end = now + left[active[k]] / rates[k]; end <= until) {
        until = end;
        first = k;
      }
    for (std::size_t k = 0; k < active.size(); ++k) left[active[k]] -= rates[k] * (until - now);
    now = until;
    if (first != planned.size()) ends[active[first]] = now;
    for (const std::size_t i : active)
      if (ends[i] < 0 && left[i] <= 1e-9 * planned[i].bytes) ends[i] = now;
  }
}

std::vector<Planned> random_flows(std::mt19937& random, int count, int resources) {
  std::uniform_real_distribution<double> bytes(1, 1000), part(0.2, 3), when(0, 50);
  std::vector<Planned> flows;
  for (int i = 0; i < count; ++i) {
    Planned flow{random() % 3 == 0 ? when(random) : 0, bytes(random), {}};
    std::vector<int> all(static_cast<std::size_t>(resources));
    for (int r = 0; r < resources; ++r) all[static_cast<std::size_t>(r)] = r;
    std::ranges::shuffle(all, random);
    for (std::size_t k = 0; k <= random() % 3; ++k)
      flow.uses.push_back({all[k], random() % 2 == 0 ? 1 : part(random)});
    if (random() % 3 == 0) flow.cap = part(random) * 5;
    if (random() % 3 == 0) flow.weight = part(random);
    flows.push_back(flow);
  }
  return flows;
}

TEST(Fluid, OneFlowTakesBytesOverRate) {
  EXPECT_DOUBLE_EQ(run({100}, {{0, 1000, {{0, 1}}}})[0], 10);
  EXPECT_DOUBLE_EQ(run({100}, {{0, 1000, {{0, 1}}, 50}})[0], 20) << "its cap";
  EXPECT_DOUBLE_EQ(run({100}, {{0, 1000, {{0, 2}}}})[0], 20) << "each byte twice";
  EXPECT_DOUBLE_EQ(run({}, {{3, 1000, {}, 50}})[0], 23) << "nothing shared";
  EXPECT_DOUBLE_EQ(run({100}, {{4, 0, {{0, 1}}}})[0], 4) << "no bytes";
}

TEST(Fluid, FlowsShareAndLeaveTheirPartToOthers) {
  // 50 each until the first ends at 2; then 100.
  EXPECT_THAT(run({100}, {{0, 100, {{0, 1}}}, {0, 300, {{0, 1}}}}), testing::ElementsAre(2, 4));
  // By weight 3 : 1.
  EXPECT_THAT(run({100}, {{0, 150, {{0, 1}}, kNever, 3}, {0, 100, {{0, 1}}}}), testing::ElementsAre(2, 2.5));
  // What one cannot use goes to the other.
  EXPECT_THAT(run({100}, {{0, 20, {{0, 1}}, 10}, {0, 180, {{0, 1}}}}), testing::ElementsAre(2, 2));
  // The second link holds the first flow back to 10, so that the other gets 90.
  EXPECT_THAT(run({100, 10}, {{0, 20, {{0, 1}, {1, 1}}}, {0, 180, {{0, 1}}}}), testing::ElementsAre(2, 2));
}

/// One step of a ring, of a tree with as many senders as one link carries, of a chain of links.
TEST(Fluid, ClosedForms) {
  constexpr int kRanks = 64;
  std::vector<Planned> ring, incast;
  for (int rank = 0; rank < kRanks; ++rank) {
    ring.push_back({0, 4096, {{2 * rank, 1}, {2 * ((rank + 1) % kRanks) + 1, 1}}});
    incast.push_back({0, 4096, {{2 * rank, 1}, {1, 1}}});
  }
  const std::vector<double> links(2 * kRanks, 16);
  EXPECT_THAT(run(links, ring), testing::Each(256));
  EXPECT_THAT(run(links, incast), testing::Each(testing::DoubleNear(256 * kRanks, 1e-9)));
}

TEST(Fluid, EqualsThePlainestWayOnRandomFlows) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int resources = 2 + static_cast<int>(random() % 8), count = 1 + static_cast<int>(random() % 40);
    std::vector<double> capacity;
    for (int r = 0; r < resources; ++r) capacity.push_back(std::uniform_real_distribution<double>(1, 50)(random));
    const auto flows = random_flows(random, count, std::max(3, resources));
    capacity.resize(static_cast<std::size_t>(std::max(3, resources)), 20);
    const auto ends = run(capacity, flows), expected = run_plainly(capacity, flows);
    for (std::size_t i = 0; i < ends.size(); ++i) ASSERT_NEAR(ends[i], expected[i], 1e-6 * expected[i]) << i;
  }
}

TEST(Fluid, KeepsEveryByteAndLeavesNoCapacityThatAFlowCouldUse) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<double> capacity(6, 10);
    const auto flows = random_flows(random, 30, 6);
    Fluid fluid(capacity);
    std::vector<Fluid::Id> ids;
    for (const Planned& flow : flows) ids.push_back(fluid.begin({flow.bytes, flow.uses, flow.cap, flow.weight}));
    std::vector<double> used(capacity.size());
    for (std::size_t i = 0; i < flows.size(); ++i)
      for (const Usage& use : flows[i].uses) used[std::size_t(use.resource)] += fluid.rate(ids[i]) * use.weight;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const int limit = fluid.limit(ids[i]);
      if (limit < 0)
        EXPECT_DOUBLE_EQ(fluid.rate(ids[i]), flows[i].cap);
      else
        EXPECT_NEAR(used[std::size_t(limit)], capacity[std::size_t(limit)], 1e-9);
    }
    for (std::size_t r = 0; r < capacity.size(); ++r) EXPECT_LE(used[r], capacity[r] * (1 + 1e-9));
    std::vector<Fluid::End> ends;
    while (fluid.flows() > 0) fluid.advance(fluid.next(), ends);
    EXPECT_EQ(ends.size(), flows.size());
    std::vector<double> carried(capacity.size());
    for (const Planned& flow : flows)
      for (const Usage& use : flow.uses) carried[std::size_t(use.resource)] += flow.bytes * use.weight;
    for (std::size_t r = 0; r < capacity.size(); ++r) EXPECT_NEAR(fluid.carried(int(r)), carried[r], 1e-6);
  }
}

TEST(Fluid, AnEpsilonShiftsEndsByNoMoreThanIsSaved) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const std::vector<double> capacity(4, 10);
    const auto flows = random_flows(random, 60, 4);
    Fluid exact(capacity), batched(capacity, 5);
    const auto right = run(capacity, flows, 0, &exact), near = run(capacity, flows, 5, &batched);
    EXPECT_LT(batched.solved(), exact.solved()) << "seed " << seed;
    const double last = std::ranges::max(right);
    EXPECT_NEAR(std::ranges::max(near), last, 0.05 * last) << "seed " << seed;
  }
}

TEST(Fluid, AFlowThatCannotMoveNeverEnds) {
  Fluid fluid({0});
  const std::vector<Usage> uses{{0, 1}};
  (void)fluid.begin({10, uses});
  EXPECT_EQ(fluid.next(), kNever);
}

}  // namespace
}  // namespace sennit::sim
