#include "machine/machine.h"

#include <gtest/gtest.h>

#include "machine/made_up.h"

namespace sennit::machine {
namespace {

TEST(Find, KnowsIdUuidAndPciInEitherCase) {
  const Machine machine = two_gpus();
  for (const char* name : {"gpu1", "GPU1", "GPU-00000001", "gpu-00000001", "0000:1b:01.0", "0000:1B:01.0"}) {
    ASSERT_NE(machine.find(name), nullptr) << name;
    EXPECT_EQ(machine.find(name)->id, "gpu1") << name;
  }
}

TEST(Find, DoesNotTakeAnEmptyNameForADeviceWithoutUuid) {
  const Machine machine = two_gpus();
  EXPECT_EQ(machine.find(""), nullptr);
  EXPECT_EQ(machine.find("gpu2"), nullptr);
}

TEST(LinkBetween, IsTheSameInEitherOrderAndPrefersTheWidest) {
  Machine machine = two_gpus();
  Link narrow = machine.links.back();
  narrow.kind = LinkKind::pcie;
  narrow.forward_gbps.value = 10;
  machine.links.insert(machine.links.begin(), narrow);
  const Link* there = machine.link("gpu0", "0000:1b:01.0");
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(there->kind, LinkKind::nvlink);
  EXPECT_EQ(machine.link("gpu1", "gpu0"), there);
  EXPECT_EQ(machine.link("gpu0", "gpu0"), nullptr);
  EXPECT_EQ(machine.link("gpu0", "nobody"), nullptr);
}

TEST(CurveBetween, DistinguishesDirectionMethodAndTraffic) {
  const Machine machine = two_gpus();
  EXPECT_NE(machine.curve("GPU-00000000", "gpu1", Method::sm, Traffic::both_ways), nullptr);
  EXPECT_EQ(machine.curve("gpu1", "gpu0", Method::sm, Traffic::both_ways), nullptr);
  EXPECT_EQ(machine.curve("gpu0", "gpu1", Method::engine, Traffic::both_ways), nullptr);
  EXPECT_EQ(machine.curve("gpu0", "gpu1", Method::sm, Traffic::one_way), nullptr);
}

}  // namespace
}  // namespace sennit::machine
