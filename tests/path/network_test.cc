#include "path/network.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machines.h"

namespace sennit::path {
namespace {

using machine::LinkKind;
using machine::Machine;
using testing::ElementsAre;

std::vector<std::string> names(const Network& network, const std::vector<int>& resources) {
  std::vector<std::string> text;
  for (const int resource : resources) text.push_back(network.resource_name(resource));
  return text;
}

std::vector<std::string> way(const Network& network, const char* from, const char* to) {
  return names(network, network.find_hop(network.index(from), network.index(to)).arcs);
}

double width(const Network& network, const char* from, const char* to) {
  return network.find_hop(network.index(from), network.index(to)).gbps;
}

TEST(FindHop, TakesTheWidestWay) {
  const Machine machine = hgx_h200_4();
  const Network network(machine);
  EXPECT_THAT(way(network, "gpu0", "gpu3"), ElementsAre("gpu0>nvswitch0", "nvswitch0>gpu3"));
  EXPECT_THAT(way(network, "gpu2", "host0"), ElementsAre("gpu2>host0"));
  EXPECT_THAT(way(network, "host0", "gpu2"), ElementsAre("host0>gpu2"));
}

TEST(FindHop, CrossesSocketsOnlyAsNarrowAsTheirLink) {
  const Machine machine = mist();
  const Network network(machine);
  EXPECT_THAT(way(network, "gpu0", "gpu2"), ElementsAre("gpu0>host0", "host0>host1", "host1>gpu2"));
  EXPECT_DOUBLE_EQ(width(network, "gpu0", "gpu2"), 64);
  EXPECT_DOUBLE_EQ(width(network, "gpu0", "gpu1"), 72);
}

TEST(FindHop, TakesNvlinkHoweverFastOtherLinksAre) {
  Machine machine = mist();
  for (machine::Link& link : machine.links)
    if (link.to == "host0" || link.from == "host0") link.forward_gbps.value = link.backward_gbps.value = 500;
  EXPECT_THAT(way(Network(machine), "gpu0", "gpu1"), ElementsAre("gpu0>gpu1"));
}

TEST(FindHop, TakesTheFewestLinksOfEquallyWideWays) {
  Machine machine = hgx_h200_4();
  machine.devices.push_back({"nvswitch1", machine::DeviceKind::nvswitch, {}, {}, {}, 0, 0, 0, -1, {}, {}, {}});
  // A detour that is as wide, listed first.
  machine.links.insert(machine.links.begin(), link("nvswitch0", "nvswitch1", LinkKind::nvlink, 18, 450));
  machine.links.insert(machine.links.begin() + 1, link("nvswitch1", "gpu1", LinkKind::nvlink, 18, 450));
  EXPECT_EQ(way(Network(machine), "gpu0", "gpu1").size(), 2u);
}

TEST(FindHop, NeedsPeerAccessBetweenGpusOnly) {
  const Machine open = pcie_only(true), closed = pcie_only(false);
  EXPECT_THAT(way(Network(open), "gpu0", "gpu2"),
              ElementsAre("gpu0>pcie0", "pcie0>host0", "host0>pcie1", "pcie1>gpu2"));
  EXPECT_EQ(width(Network(closed), "gpu0", "gpu1"), 0);
  EXPECT_EQ(width(Network(closed), "gpu0", "gpu2"), 0);
  EXPECT_GT(width(Network(closed), "gpu0", "host0"), 0);
  EXPECT_GT(width(Network(closed), "host0", "gpu2"), 0);
}

TEST(FindHop, NeverPassesAGpuOrANic) {
  Machine machine;
  machine.devices = {gpu(0), gpu(1), gpu(2)};
  machine.devices.push_back({"nic0", machine::DeviceKind::nic, {}, {}, {}, 0, 0, 0, -1, {}, {}, {}});
  machine.links = {link("gpu0", "gpu1", LinkKind::nvlink, 1, 24), link("gpu1", "gpu2", LinkKind::nvlink, 1, 24),
                   link("gpu0", "nic0", LinkKind::pcie, 1, 12), link("nic0", "gpu2", LinkKind::pcie, 1, 12)};
  EXPECT_EQ(width(Network(machine), "gpu0", "gpu2"), 0);
}

TEST(FindHop, FollowsTheDirectionOfALink) {
  Machine machine;
  machine.devices = {gpu(0), gpu(1)};
  machine.links = {link("gpu1", "gpu0", LinkKind::nvlink, 1, 24)};
  machine.links[0].backward_gbps.value = 10;
  EXPECT_EQ(width(Network(machine), "gpu0", "gpu1"), 10);
  EXPECT_EQ(width(Network(machine), "gpu1", "gpu0"), 24);
}

TEST(Usage, NamesEveryLimitOnce) {
  const Machine machine = hgx_h200_4();
  const Network network(machine);
  const auto uses = [&](const char* from, const char* to, machine::Method method, bool reverse) {
    std::vector<int> resources;
    for (const Usage& use : network.usage(network.find_hop(network.index(from), network.index(to)), method, reverse))
      resources.push_back(use.resource);
    return names(network, resources);
  };
  EXPECT_THAT(uses("gpu0", "host0", machine::Method::engine, false),
              ElementsAre("gpu0>host0", "gpu0<>host0", "host0:write", "host0:read_write", "gpu0:engines"));
  EXPECT_THAT(uses("gpu0", "host0", machine::Method::sm, true),
              ElementsAre("host0>gpu0", "gpu0<>host0", "host0:read", "host0:read_write"));
  EXPECT_THAT(uses("host0", "gpu1", machine::Method::engine, false),
              ElementsAre("host0>gpu1", "gpu1<>host0", "host0:read", "host0:read_write", "gpu1:engines"));
}

TEST(Usage, AGpusOwnLimitIsTowardsOtherGpus) {
  Machine machine = hgx_h200_4_unmeasured();
  machine.devices[0].read_gbps = measured(378);  // measured with all GPUs sending to each other
  const Network network(machine);
  const auto reads = [&](const char* to) {
    int count = 0;
    for (const Usage& use : network.usage(network.find_hop(0, network.index(to)), machine::Method::sm, false))
      count += network.resource_name(use.resource) == "gpu0:read";
    return count;
  };
  EXPECT_EQ(reads("gpu1"), 1);
  EXPECT_EQ(reads("host0"), 0);
}

TEST(Usage, CountsAnEngineByTheTimeItIsBusy) {
  const Machine machine = hgx_h200_4_unmeasured();
  const Network network(machine);
  const auto uses = network.usage(network.find_hop(0, 1), machine::Method::engine, false);
  ASSERT_EQ(network.resource_name(uses.back().resource), "gpu0:engines");
  EXPECT_DOUBLE_EQ(uses.back().weight * 450, 1);  // at full rate, one engine
}

TEST(Merge, AddsWeights) {
  std::vector<Usage> uses = {{3, 1}};
  merge(uses, {{3, 1}, {4, 2}});
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].weight, 2);
  EXPECT_EQ(uses[1].resource, 4);
}

TEST(Calibrate, LetsAMeasuredCopyCorrectASpecification) {
  const Machine machine = hgx_h200_4();  // links say 450, copies deliver 397
  Network network(machine);
  const Hop hop = network.find_hop(0, 1);
  network.calibrate({&hop});
  EXPECT_NEAR(network.capacity()[hop.arcs[0]], 397, 2);
  EXPECT_NEAR(network.capacity()[hop.arcs[1]], 397, 2);
}

TEST(Calibrate, RaisesAMeasuredLinkThatACopyExceededAndNothingElse) {
  Machine machine = hgx_h200_4();
  for (machine::Link& each : machine.links)
    if (each.kind == LinkKind::nvlink) each.forward_gbps = each.backward_gbps = measured(380);
  Network network(machine);
  const Hop hop = network.find_hop(0, 1);
  const double other = network.capacity()[network.find_hop(2, 3).arcs[0]];
  network.calibrate({&hop});
  EXPECT_NEAR(network.capacity()[hop.arcs[0]], 397, 2);
  EXPECT_EQ(network.capacity()[network.find_hop(2, 3).arcs[0]], other);
}

// Measured on 4 × H200: host memory read by 1, 2, 3 and 4 GPUs at once.
TEST(Rates, HostMemoryGivesWaySoftly) {
  const Machine machine = hgx_h200_4();
  Network network(machine);
  std::vector<Hop> hops;
  for (int g = 0; g < 4; ++g) hops.push_back(network.find_hop(network.index("host0"), g));
  network.calibrate({&hops[0], &hops[1], &hops[2], &hops[3]});
  std::vector<Flow> flows;
  for (const Hop& hop : hops) flows.push_back({network.usage(hop, machine::Method::engine, false), hop.rate(), 1});
  const auto total = [&](int gpus) {
    std::vector<const Flow*> some;
    for (int g = 0; g < gpus; ++g) some.push_back(&flows[g]);
    double sum = 0;
    for (const double rate : network.rates(some)) sum += rate;
    return sum;
  };
  EXPECT_NEAR(total(1), 55.3, 0.5);
  EXPECT_NEAR(total(2), 103, 3);
  EXPECT_NEAR(total(3), 139, 4);
  EXPECT_NEAR(total(4), 157, 1);
}

}  // namespace
}  // namespace sennit::path
