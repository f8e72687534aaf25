#include "place/topology.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/pattern.h"
#include "place/search.h"

namespace sennit::place {
namespace {

using testing::ElementsAre;

std::vector<Process> on_nodes(const std::vector<std::string>& nodes) {
  std::vector<Process> processes;
  for (const std::string& node : nodes)
    processes.push_back({node, {}, int(std::ranges::count(processes, node, &Process::node))});
  return processes;
}

double between_nodes(const Traffic& traffic, const std::vector<Process>& processes, const std::vector<int>& order) {
  double bytes = 0;
  for (const Talk& talk : traffic.talks())
    if (processes[std::size_t(order[std::size_t(talk.from)])].node !=
        processes[std::size_t(order[std::size_t(talk.to)])].node)
      bytes += talk.bytes;
  return bytes;
}

TEST(Topology, AGridIsThatOfThePatternOfTheSameName) {
  const std::vector<int> extents = {4, 2}, wraps = {1, 1}, none = {0, 0}, third = {3};
  EXPECT_EQ(traffic_of_cart(extents, wraps, 8)->matrix(), parse_pattern("2d-torus:4x2", 1)->matrix());
  EXPECT_EQ(traffic_of_cart(extents, none, 8)->matrix(), parse_pattern("2d-stencil:4x2", 1)->matrix());
  EXPECT_EQ(traffic_of_cart(third, wraps, 5)->ranks(), 5) << "those beyond the grid have nobody to talk to";
  EXPECT_EQ(traffic_of_cart(third, wraps, 5)->talks().size(), 6u);
}

TEST(Topology, WhatIsNoGridIsNone) {
  const std::vector<int> wraps = {1, 1}, zero = {2, 0}, many = {4, 4}, huge = {65536, 65536};
  for (const auto& extents : {zero, many, huge}) EXPECT_FALSE(traffic_of_cart(extents, wraps, 8));
}

TEST(Topology, AGraphIsReadAsMpiHasIt) {
  const std::vector<int> index = {1, 3, 4}, edges = {1, 0, 2, 1};
  const auto traffic = traffic_of_graph(index, edges, 4);
  ASSERT_TRUE(traffic);
  EXPECT_THAT(traffic->talks(), ElementsAre(Talk{0, 1, 1, 1}, Talk{1, 0, 1, 1}, Talk{1, 2, 1, 1}, Talk{2, 1, 1, 1}));
  EXPECT_FALSE(traffic_of_graph(index, edges, 2)) << "more ranks than processes";
  const std::vector<int> falls = {2, 1, 4}, beyond = {1, 3, 9}, elsewhere = {1, 0, 3, 1};
  EXPECT_FALSE(traffic_of_graph(falls, edges, 4));
  EXPECT_FALSE(traffic_of_graph(beyond, edges, 4));
  EXPECT_FALSE(traffic_of_graph(index, elsewhere, 4));
  EXPECT_FALSE(traffic_of_graph({}, edges, 4));
}

TEST(Topology, ProcessesDealtOutInTurnAreBroughtTogether) {
  const auto processes = on_nodes({"a", "b", "a", "b"});
  const std::vector<int> extents = {4}, wraps = {0};
  const Traffic line = *traffic_of_cart(extents, wraps, 4);
  const auto order = reorder(line, processes, nullptr);
  ASSERT_TRUE(order);
  EXPECT_EQ(between_nodes(line, processes, order->process), 2) << "one edge, both ways";
  EXPECT_LT(order->after, order->before);
}

TEST(Topology, AnOrderThatCannotBeBetteredIsLeft) {
  const std::vector<int> extents = {4}, wraps = {0};
  const Traffic line = *traffic_of_cart(extents, wraps, 4);
  EXPECT_FALSE(reorder(line, on_nodes({"a", "a", "b", "b"}), nullptr));
  EXPECT_FALSE(reorder(line, on_nodes({"a", "a", "a", "a"}), nullptr)) << "all are as near";
  EXPECT_FALSE(reorder(Traffic(4), on_nodes({"a", "b", "a", "b"}), nullptr));
  EXPECT_FALSE(reorder(Traffic(3), on_nodes({"a", "b", "a", "b"}), nullptr)) << "of other ranks";
}

/// gpu0 and gpu1 on one switch, gpu2 and gpu3 on another, and the host between.
machine::Machine two_switches() {
  machine::Machine machine;
  const auto add = [&](std::string id, machine::DeviceKind kind, std::string pci = {}) {
    machine.devices.emplace_back();
    machine.devices.back().id = std::move(id);
    machine.devices.back().kind = kind;
    machine.devices.back().pci = std::move(pci);
  };
  const auto link = [&](std::string from, std::string to) {
    machine.links.emplace_back();
    machine::Link& one = machine.links.back();
    one.from = std::move(from);
    one.to = std::move(to);
    one.forward_gbps.value = one.backward_gbps.value = 12;
  };
  for (int gpu = 0; gpu < 4; ++gpu)
    add("gpu" + std::to_string(gpu), machine::DeviceKind::gpu, "0000:0" + std::to_string(gpu) + ":00.0");
  add("host0", machine::DeviceKind::host);
  for (int which = 0; which < 2; ++which) {
    const std::string id = "switch" + std::to_string(which);
    add(id, machine::DeviceKind::pcie_switch);
    link(id, "host0");
    for (int gpu = 2 * which; gpu < 2 * which + 2; ++gpu) link("gpu" + std::to_string(gpu), id);
  }
  return machine;
}

TEST(Topology, OnANodeTheLinksOfGpusDecide) {
  const machine::Machine machine = two_switches();
  Traffic pairs(4);
  for (const auto& [from, to] : {std::pair(0, 2), std::pair(2, 0), std::pair(1, 3), std::pair(3, 1)})
    pairs.add(from, to, 10);
  auto processes = on_nodes({"a", "a", "a", "a"});
  const auto by_rank = reorder(pairs, processes, &machine);
  ASSERT_TRUE(by_rank);
  const auto is_near = [&](const std::vector<int>& gpu, int a, int b) {
    return gpu[std::size_t(by_rank->process[std::size_t(a)])] / 2 ==
           gpu[std::size_t(by_rank->process[std::size_t(b)])] / 2;
  };
  EXPECT_TRUE(is_near({0, 1, 2, 3}, 0, 2) && is_near({0, 1, 2, 3}, 1, 3));
  // Where GPUs are known the local rank says nothing: here the pairs share a switch already.
  const char* const addresses[] = {"0000:00:00.0", "0000:02:00.0", "0000:01:00.0", "0000:03:00.0"};
  for (std::size_t i = 0; i < 4; ++i) processes[i].gpu = addresses[i];
  EXPECT_FALSE(reorder(pairs, processes, &machine));
  processes[3].gpu = "0000:09:00.0";
  EXPECT_FALSE(reorder(pairs, processes, &machine)) << "one is not known: all are as near";
}

TEST(Topology, NoOrderIsWorseThanItWasAndEachIsAPermutation) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const int n = 3 + random.below(14);
    Traffic traffic(n);
    for (int i = 0; i < 3 * n; ++i) traffic.add(random.below(n), random.below(n), 1 + random.below(9));
    std::vector<std::string> nodes;
    for (int i = 0; i < n; ++i) nodes.emplace_back(1, char('a' + random.below(3)));
    const auto processes = on_nodes(nodes);
    const auto order = reorder(traffic, processes, nullptr);
    if (!order) continue;
    EXPECT_LT(order->after, order->before);
    std::vector<int> sorted = order->process, same(static_cast<std::size_t>(n));
    std::ranges::sort(sorted);
    std::iota(same.begin(), same.end(), 0);
    EXPECT_EQ(sorted, same);
    EXPECT_LT(between_nodes(traffic, processes, order->process), between_nodes(traffic, processes, same));
  }
}

}  // namespace
}  // namespace sennit::place
