#include "bench/measure/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace sennit::bench::measure {
namespace {

using machine::Curve;
using machine::Device;
using machine::DeviceKind;
using machine::Link;
using machine::LinkKind;
using machine::Machine;
using machine::Method;
using machine::Source;
using machine::Traffic;

/// Two GPUs behind a switch, and a slower link to the host.
Machine machine_with(std::vector<Curve> curves) {
  Machine machine;
  machine.name = "test";
  for (const auto& [id, kind] :
       {std::pair("gpu0", DeviceKind::gpu), std::pair("gpu1", DeviceKind::gpu), std::pair("host0", DeviceKind::host),
        std::pair("nvswitch0", DeviceKind::nvswitch), std::pair("pcie0", DeviceKind::pcie_switch)}) {
    Device device;
    device.id = id, device.kind = kind;
    machine.devices.push_back(device);
  }
  const auto join = [&](const char* from, const char* to, LinkKind kind, double gbps) {
    Link link;
    link.from = from, link.to = to, link.kind = kind;
    link.forward_gbps = link.backward_gbps = {gbps, Source::specification, 0, "data sheet"};
    machine.links.push_back(link);
  };
  join("gpu0", "nvswitch0", LinkKind::nvlink, 400);
  join("gpu1", "nvswitch0", LinkKind::nvlink, 400);
  join("gpu0", "pcie0", LinkKind::pcie, 25);
  join("pcie0", "host0", LinkKind::pcie, 50);
  machine.curves = std::move(curves);
  return machine;
}

Curve curve(const char* from, const char* to, Traffic traffic, double small_us, double large_us) {
  return {from, to, Method::engine, traffic, {{64 * KiB, small_us, 0.1, 7}, {100'000'000, large_us, 2, 7}}};
}

TEST(ApplyCurves, GivesTheLinksOfASwitchWhatACopyGot) {
  Machine machine = machine_with(
      {curve("gpu0", "gpu1", Traffic::one_way, 12, 250), curve("gpu1", "gpu0", Traffic::one_way, 10, 500)});
  apply_curves(machine);
  const Link &first = machine.links[0], &second = machine.links[1];
  EXPECT_DOUBLE_EQ(first.forward_gbps.value, 400);
  EXPECT_DOUBLE_EQ(second.backward_gbps.value, 400);
  EXPECT_DOUBLE_EQ(first.backward_gbps.value, 200);
  EXPECT_EQ(first.forward_gbps.source, Source::measured);
  EXPECT_DOUBLE_EQ(first.forward_gbps.spread, 3.2);  // 2 of 250 µs
  EXPECT_THAT(first.forward_gbps.note, testing::HasSubstr("gpu0 to gpu1"));
  ASSERT_TRUE(first.latency_us);
  EXPECT_DOUBLE_EQ(first.latency_us->value, 5);  // 10 µs over two links
}

TEST(ApplyCurves, LeavesLinksThatLimitedNothing) {
  Machine machine = machine_with({curve("gpu0", "host0", Traffic::one_way, 10, 5000)});
  apply_curves(machine);
  EXPECT_DOUBLE_EQ(machine.links[2].forward_gbps.value, 20);
  EXPECT_DOUBLE_EQ(machine.links[3].forward_gbps.value, 50);
  EXPECT_EQ(machine.links[3].forward_gbps.source, Source::specification);
}

TEST(ApplyCurves, SumsBothWays) {
  Machine machine = machine_with({curve("gpu0", "gpu1", Traffic::both_ways, 12, 256)});
  apply_curves(machine);
  ASSERT_TRUE(machine.links[0].both_gbps);
  EXPECT_DOUBLE_EQ(machine.links[0].both_gbps->value, 781.25);
  EXPECT_EQ(machine.links[0].forward_gbps.source, Source::specification);
}

TEST(ApplyCurves, TakesNothingFromCrowdsAndKernels) {
  Curve kernel = curve("gpu0", "gpu1", Traffic::one_way, 12, 100);
  kernel.method = Method::sm;
  Machine machine = machine_with({kernel, curve("gpu0", "gpu1", Traffic::all_at_once, 12, 100)});
  apply_curves(machine);
  for (const Link& link : machine.links) EXPECT_EQ(link.forward_gbps.source, Source::specification);
}

TEST(Unsteady, NamesPairsWhoseLargestCopiesVary) {
  Curve steady = curve("gpu0", "gpu1", Traffic::one_way, 12, 250);
  steady.points[0].spread_us = 12;  // small copies may vary
  Curve shaky = curve("gpu1", "gpu0", Traffic::one_way, 12, 250);
  shaky.points[1].spread_us = 60;
  const auto found = unsteady(machine_with({steady, shaky}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "gpu1 → gpu0 (95.37 MiB, 24 %)");
}

TEST(RateFigure, OfNothingIsNoRate) {
  EXPECT_EQ(rate_figure(MiB, Summary{}, "x").value, 0);
}

}  // namespace
}  // namespace sennit::bench::measure
