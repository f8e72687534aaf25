// A machine, or several, as resources.
#include "sim/fabric.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "machine/known.h"
#include "places.h"

namespace sennit::sim {
namespace {

machine::Machine machine_called(const std::string& name) {
  return machine::known_machine(places::source("machines/" + name + ".json"), "").value().machine;
}

std::vector<std::string> names(const Fabric& fabric, const std::vector<path::Usage>& uses) {
  std::vector<std::string> all;
  for (const path::Usage& use : uses) all.push_back(fabric.resource_name(use.resource));
  return all;
}

TEST(Fabric, NumbersPlacesNodeByNode) {
  const machine::Machine machine = machine_called("mist");
  const auto fabric = Fabric::create(machine, 3, 900);
  ASSERT_TRUE(fabric.ok());
  const int gpu = fabric->network().index("gpu2"), place = fabric->place(2, gpu);
  EXPECT_EQ(fabric->node_of(place), 2);
  EXPECT_EQ(fabric->device_of(place), gpu);
  EXPECT_EQ(fabric->place_name(place), "gpu2 of node 2");
  EXPECT_EQ(fabric->resource_name(fabric->memory(place)), "gpu2:memory");
  EXPECT_TRUE(fabric->is_memory(fabric->memory(place)));
  EXPECT_DOUBLE_EQ(fabric->capacity()[static_cast<std::size_t>(fabric->memory(place))], 900e3);
}

TEST(Fabric, GoesWithinANodeByItsOwnLinksAndToAnotherByNics) {
  const machine::Machine machine = machine_called("mist");
  const auto fabric = Fabric::create(machine, 2, 900);
  ASSERT_TRUE(fabric.ok());
  const int a = fabric->network().index("gpu0"), b = fabric->network().index("gpu1");
  std::vector<path::Usage> near, far;
  ASSERT_TRUE(fabric->add_way(fabric->place(1, a), fabric->place(1, b), machine::Method::sm, 1, near));
  EXPECT_EQ(names(*fabric, near), (std::vector<std::string>{"gpu0>gpu1", "gpu0<>gpu1"}));
  ASSERT_TRUE(fabric->add_way(fabric->place(0, a), fabric->place(1, b), machine::Method::sm, 2, far));
  const auto across = names(*fabric, far);
  EXPECT_NE(std::ranges::find(across, "nic0:read"), across.end());
  EXPECT_NE(std::ranges::find(across, "nic0:write"), across.end());
  for (const path::Usage& use : far) EXPECT_DOUBLE_EQ(use.weight, 2);
  std::vector<path::Usage> nothing;
  EXPECT_TRUE(fabric->add_way(fabric->place(0, a), fabric->place(0, a), machine::Method::sm, 1, nothing));
  EXPECT_TRUE(nothing.empty());
}

/// Of dgx-h100 each GPU shares a switch with a NIC of its own.
TEST(Fabric, GivesEachGpuTheNicThatIsNearest) {
  const machine::Machine machine = machine_called("dgx-h100");
  const auto fabric = Fabric::create(machine, 2, 900);
  ASSERT_TRUE(fabric.ok());
  std::vector<path::Usage> all;
  for (int i = 0; i < 8; ++i) {
    const int gpu = fabric->network().index("gpu" + std::to_string(i));
    ASSERT_TRUE(fabric->add_way(fabric->place(0, gpu), fabric->place(1, gpu), machine::Method::sm, 1, all));
  }
  for (const path::Usage& use : all) EXPECT_DOUBLE_EQ(use.weight, 1) << fabric->resource_name(use.resource);
}

TEST(Fabric, TellsLoadsOfAllNodesTogetherAndOfTheBusiest) {
  const machine::Machine machine = machine_called("mist");
  const auto fabric = Fabric::create(machine, 2, 900);
  ASSERT_TRUE(fabric.ok());
  Fluid fluid(fabric->capacity());
  std::vector<path::Usage> uses;
  const int a = fabric->network().index("gpu0"), b = fabric->network().index("gpu1");
  ASSERT_TRUE(fabric->add_way(fabric->place(1, a), fabric->place(1, b), machine::Method::sm, 1, uses));
  fluid.begin({72e3, uses});
  std::vector<Fluid::End> ends;
  fluid.advance(fluid.next(), ends);
  const auto loads = fabric->loads(fluid, 2);
  ASSERT_FALSE(loads.empty());
  EXPECT_EQ(loads.front().resource, "gpu0>gpu1");
  EXPECT_NEAR(loads.front().bytes, 72e3, 1e-6);
  EXPECT_NEAR(loads.front().busy, 0.5, 1e-9) << "72 GB/s for 1 of 2 µs";
}

}  // namespace
}  // namespace sennit::sim
