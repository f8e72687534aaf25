#include <gtest/gtest.h>

#include "base/units.h"
#include "machines.h"
#include "path/routes.h"

namespace sennit::path {
namespace {

double limit(const machine::Machine& machine, const char* from, const char* to, bool both_ways = false) {
  const auto routes = enumerate(machine, from, to, 64 * MiB, both_ways);
  return limit_gbps(routes->network, routes->from, routes->to, both_ways);
}

TEST(Limit, AddsTheHostPathToAFullEgress) {
  EXPECT_NEAR(limit(hgx_h200_4(), "gpu0", "gpu1"), 397 + 55, 3);
}

TEST(Limit, OfHostToGpuIsHostMemory) {
  EXPECT_NEAR(limit(hgx_h200_4(), "host0", "gpu0"), 157, 0.1);
  EXPECT_NEAR(limit(hgx_h200_4(), "gpu0", "host0"), 133, 0.1);
}

TEST(Limit, BothWaysSharesCoupledLinks) {
  EXPECT_NEAR(limit(hgx_h200_4(), "gpu0", "gpu1", true), 390 + 47.5, 0.1);
}

TEST(Limit, UsesEveryLinkOfAMesh) {
  EXPECT_DOUBLE_EQ(limit(cube_mesh(), "gpu0", "gpu5"), 4 * 24 + 12);
  EXPECT_DOUBLE_EQ(limit(cedar(), "gpu0", "gpu1"), 3 * 48 + 12);
}

TEST(Limit, DoesNotPassANic) {
  machine::Machine machine = mist();
  machine.devices.push_back({"nic0", machine::DeviceKind::nic, {}, {}, {}, 0, 0, 0, -1, {}, {}, {}});
  for (const char* host : {"host0", "host1"})
    machine.links.push_back(link("nic0", host, machine::LinkKind::pcie, 1, 13));
  EXPECT_DOUBLE_EQ(limit(machine, "gpu0", "gpu2"), 64);
}

TEST(Limit, AcrossSocketsIsTheSocketLink) {
  EXPECT_DOUBLE_EQ(limit(mist(), "gpu0", "gpu2"), 64);
}

TEST(Limit, WithoutPeerAccessPassesThroughMemory) {
  machine::Machine machine = pcie_only(false);
  EXPECT_DOUBLE_EQ(limit(machine, "gpu0", "gpu3"), 12);
  for (machine::Device& device : machine.devices)
    if (device.kind == machine::DeviceKind::host) device.read_write_gbps = measured(10);
  EXPECT_DOUBLE_EQ(limit(machine, "gpu0", "gpu3"), 5);
}

}  // namespace
}  // namespace sennit::path
