#include "machine/prior.h"

#include <gtest/gtest.h>

namespace sennit::machine {
namespace {

TEST(NvlinkFigure, ComesCloseToWhatWasMeasured) {
  EXPECT_NEAR(nvlink_figure(26.562, 18).value, 395, 5);  // H200, machines/hgx-h200-4.json
  EXPECT_NEAR(nvlink_figure(25.0, 3).value, 70, 3);      // V100, thesis 4.4.2: 72
  EXPECT_EQ(nvlink_figure(26.562, 18).source, Source::specification);
}

TEST(NvlinkFigure, AdmitsWhenNoSpeedIsKnown) {
  EXPECT_EQ(nvlink_figure(0, 2).source, Source::assumed);
  EXPECT_GT(nvlink_figure(0, 2).value, 0);
  EXPECT_EQ(nvlink_figure(-3, 2).value, nvlink_figure(0, 2).value);
}

TEST(ComputeCapability, FollowsFromTheModel) {
  EXPECT_EQ(compute_capability("NVIDIA H200"), 90);
  EXPECT_EQ(compute_capability("NVIDIA A100-SXM4-80GB"), 80);
  EXPECT_EQ(compute_capability("Tesla V100-SXM2-32GB"), 70);
  EXPECT_EQ(compute_capability("NVIDIA B200"), 100);
  EXPECT_EQ(compute_capability("host executor device"), 0);
  EXPECT_EQ(nvlink_raw_gbps(compute_capability("Tesla K80")), 0);
}

TEST(SocketFigure, IsAlwaysAnAssumptionWithItsReason) {
  EXPECT_EQ(socket_figure({"GenuineIntel", 6, 143}, false).value, 22);
  EXPECT_EQ(socket_figure({"GenuineIntel", 6, 85}, false).value, 10);
  EXPECT_EQ(socket_figure({"GenuineIntel", 6, 62}, false).value, 6);
  EXPECT_EQ(socket_figure({"AuthenticAMD", 175, 1}, false).value, 16);
  EXPECT_EQ(socket_figure({"IBM", 0, 0}, false).value, 32);
  const Figure unknown = socket_figure({}, false);
  EXPECT_EQ(unknown.source, Source::assumed);
  EXPECT_FALSE(unknown.note.empty());
  EXPECT_GT(socket_figure({}, true).value, unknown.value);
}

TEST(PcieBothFigure, IsLessThanTwiceOneDirection) {
  EXPECT_NEAR(pcie_both_figure({55, Source::specification, 0, ""}).value, 95, 1);
}

}  // namespace
}  // namespace sennit::machine
