// Splits on the machine files that ship with sennit, against what was published or measured on those machines.
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"
#include "machine/document.h"
#include "path/split.h"
#include "places.h"

namespace sennit::path {
namespace {

Split planned(const std::string& name, const char* from, const char* to, std::uint64_t bytes) {
  const auto machine = machine::load(places::source("machines/" + name + ".json"));
  EXPECT_TRUE(machine.ok()) << machine.status().text();
  if (!machine.ok()) return {};
  auto result = split(*machine, from, to, bytes);
  EXPECT_TRUE(result.ok()) << result.status().text();
  return result.ok() ? *result : Split{};
}

double gain(const Split& split) {
  return split.single_us / split.predicted_us;
}

// Thesis section 4.4.2: 1.67 to 1.84 x within a socket, nothing across.
TEST(ShippedMachines, Mist) {
  const Split within = planned("mist", "gpu0", "gpu1", 256 * MiB);
  ASSERT_EQ(within.shares.size(), 2u);
  EXPECT_GT(gain(within), 1.6);
  EXPECT_LT(gain(within), 1.9);
  EXPECT_EQ(planned("mist", "gpu0", "gpu2", 256 * MiB).shares.size(), 1u);
}

// Fully joined pairs: the other GPUs relay (2.95 x was published for such a node), and the host adds a little.
TEST(ShippedMachines, Cedar) {
  for (const char* to : {"gpu1", "gpu2"}) {
    const Split split = planned("cedar", "gpu0", to, 256 * MiB);
    EXPECT_EQ(split.shares.size(), 4u);
    EXPECT_NEAR(gain(split), 2.95, 0.2);
  }
}

TEST(ShippedMachines, H200) {
  EXPECT_EQ(planned("hgx-h200-4", "gpu0", "gpu1", 8 * MiB).shares.size(), 1u);
  const Split pair = planned("hgx-h200-4", "gpu0", "gpu1", 1 * GiB);
  ASSERT_EQ(pair.shares.size(), 2u);
  EXPECT_NEAR(double(pair.shares[1].bytes) / double(pair.bytes), 0.10, 0.015);
  // One measured pair stands for the others.
  EXPECT_NEAR(planned("hgx-h200-4", "gpu3", "gpu2", 1 * GiB).predicted_us, pair.predicted_us,
              0.02 * pair.predicted_us);
  EXPECT_GT(gain(planned("hgx-h200-4", "host0", "gpu0", 64 * MiB)), 2.6);
  EXPECT_GT(gain(planned("hgx-h200-4", "gpu0", "host0", 1 * GiB)), 2.3);
}

// In the cube mesh a pair without an NVLink is joined by two GPUs between them, by two pairs of GPUs, and by host
// memory; one with a single NVLink triples it. Behind NVSwitch, host memory is all there is beside the direct path.
TEST(ShippedMachines, Dgx) {
  const Split apart = planned("dgx-1v", "gpu0", "gpu5", 256 * MiB);
  EXPECT_EQ(apart.shares.size(), 5u);
  EXPECT_GT(gain(apart), 4);
  EXPECT_NEAR(gain(planned("dgx-1v", "gpu0", "gpu1", 256 * MiB)), 3, 0.3);
  for (const char* name : {"dgx-a100", "dgx-h100", "dgx-b200"}) {
    const Split split = planned(name, "gpu0", "gpu5", 1 * GiB);
    ASSERT_EQ(split.shares.size(), 2u) << name;
    EXPECT_NEAR(gain(split), 1.09, 0.05) << name;
  }
}

// Two GPUs of one board share its PCIe switch: one path.
TEST(ShippedMachines, PcieOnly) {
  for (const char* name : {"helios", "ri2", "cscs"})
    EXPECT_EQ(planned(name, "gpu0", "gpu1", 256 * MiB).shares.size(), 1u) << name;
}

}  // namespace
}  // namespace sennit::path
