#include "machine/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "machine/made_up.h"

namespace sennit::machine {
namespace {

TEST(Validate, AcceptsAMachineThatIsPossible) {
  EXPECT_EQ(validate(two_gpus()).text(), "ok");
}

// JSON cannot carry these; machines put together in memory can.
TEST(Validate, RefusesWhatIsNotANumber) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0}) {
    Machine machine = two_gpus();
    machine.links[1].forward_gbps.value = bad;
    EXPECT_EQ(validate(machine).where(), "links[1].forward_gbps.value") << bad;
    machine = two_gpus();
    machine.links[0].latency_us->value = bad;
    EXPECT_EQ(validate(machine).where(), "links[0].latency_us.value") << bad;
    machine = two_gpus();
    machine.staged[0].rate_gbps.spread = bad;
    EXPECT_EQ(validate(machine).where(), "staged[0].rate_gbps.spread") << bad;
    machine = two_gpus();
    machine.curves[0].points[0].us = bad;
    EXPECT_EQ(validate(machine).where(), "curves[0].points[0].us") << bad;
  }
}

TEST(Validate, RefusesNegativeCounts) {
  Machine machine = two_gpus();
  machine.devices[0].sm_count = -1;
  EXPECT_EQ(validate(machine).where(), "devices[0]");
  machine = two_gpus();
  machine.staged[0].blocks = -1;
  EXPECT_EQ(validate(machine).where(), "staged[0].blocks");
}

TEST(Validate, WantsMemoryAtTheEndsOfCurves) {
  Machine machine = two_gpus();
  Device nvswitch;
  nvswitch.id = "nvswitch0";
  nvswitch.kind = DeviceKind::nvswitch;
  machine.devices.push_back(nvswitch);
  machine.curves[0].to = "nvswitch0";
  EXPECT_THAT(validate(machine).what(), testing::HasSubstr("no memory"));
}

TEST(Validate, RefusesTheSameMeasurementTwice) {
  Machine machine = two_gpus();
  machine.curves.push_back(machine.curves[0]);
  EXPECT_EQ(validate(machine).where(), "curves[1]");
  machine = two_gpus();
  machine.staged.push_back(machine.staged[0]);
  EXPECT_EQ(validate(machine).where(), "staged[1]");
}

TEST(Printable, KeepsTextAndReplacesTheRest) {
  EXPECT_EQ(printable("Béluga × 4 → 漢 😀"), "Béluga × 4 → 漢 😀");
  EXPECT_EQ(printable(std::string_view("a\0b\n", 4)), "a?b?");
  EXPECT_EQ(printable("\xff\xc3"), "??");
  EXPECT_EQ(printable("\xc0\xaf"), "??");            // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");       // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????");  // beyond Unicode
}

}  // namespace
}  // namespace sennit::machine
