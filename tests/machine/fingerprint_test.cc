#include "machine/fingerprint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "machine/made_up.h"

namespace sennit::machine {
namespace {

TEST(Fingerprint, IsStableAcrossVersions) {
  // A change here throws away every user's measurements: only when the meaning of "the same machine" changes.
  EXPECT_EQ(fingerprint(two_gpus()), "3f6dac9bfa6b3145");
}

TEST(Fingerprint, IgnoresOrderNamesAndFigures) {
  const std::string before = fingerprint(two_gpus());
  Machine machine = two_gpus();
  std::ranges::reverse(machine.devices);
  std::ranges::reverse(machine.links);
  std::swap(machine.links[0].from, machine.links[0].to);
  machine.name = "renamed";
  machine.date = "2027-01-01";
  machine.links[1].forward_gbps.value = 1;
  machine.curves.clear();
  EXPECT_EQ(fingerprint(machine), before);
}

TEST(Fingerprint, ChangesWithHardwareAndDriver) {
  const std::string before = fingerprint(two_gpus());
  Machine machine = two_gpus();
  machine.driver = "581.0";
  EXPECT_NE(fingerprint(machine), before);
  machine = two_gpus();
  machine.devices[1].uuid = "GPU-ffffffff";
  EXPECT_NE(fingerprint(machine), before);
  machine = two_gpus();
  machine.links.back().count = 3;
  EXPECT_NE(fingerprint(machine), before);
  machine = two_gpus();
  machine.links.pop_back();
  EXPECT_NE(fingerprint(machine), before);
}

}  // namespace
}  // namespace sennit::machine
