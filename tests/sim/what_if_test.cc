#include "sim/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/known.h"
#include "places.h"

namespace sennit::sim {
namespace {

using testing::HasSubstr;

machine::Machine mist() {
  return machine::known_machine(places::source("machines/mist.json"), "").value().machine;
}

TEST(WhatIf, AFactorChangesEveryLinkOfAKind) {
  machine::Machine machine = mist();
  const double nvlink = machine.link("gpu0", "gpu1")->forward_gbps.value,
               both = machine.link("gpu0", "gpu1")->both_gbps->value,
               socket = machine.link("host0", "host1")->forward_gbps.value;
  ASSERT_TRUE(apply_what_if(machine, "nvlink.bandwidth=2x").ok());
  EXPECT_DOUBLE_EQ(machine.link("gpu0", "gpu1")->forward_gbps.value, 2 * nvlink);
  EXPECT_DOUBLE_EQ(machine.link("gpu2", "host1")->backward_gbps.value, 2 * nvlink);
  EXPECT_DOUBLE_EQ(machine.link("gpu0", "gpu1")->both_gbps->value, 2 * both);
  EXPECT_DOUBLE_EQ(machine.link("host0", "host1")->forward_gbps.value, socket);
  EXPECT_TRUE(machine.curves.empty());
}

TEST(WhatIf, ALinkIsNamedByItsEndsInEitherOrder) {
  machine::Machine machine = mist();
  const double other = machine.link("gpu2", "gpu3")->forward_gbps.value;
  ASSERT_TRUE(apply_what_if(machine, "gpu1-gpu0.bandwidth=12.5").ok());
  EXPECT_DOUBLE_EQ(machine.link("gpu0", "gpu1")->forward_gbps.value, 12.5);
  EXPECT_DOUBLE_EQ(machine.link("gpu0", "gpu1")->backward_gbps.value, 12.5);
  EXPECT_FALSE(machine.link("gpu0", "gpu1")->both_gbps) << "nothing is known of both ways at once";
  EXPECT_DOUBLE_EQ(machine.link("gpu2", "gpu3")->forward_gbps.value, other);
}

TEST(WhatIf, LimitsOfTheGpusAtTheEndsFollow) {
  const machine::Machine before =
      machine::known_machine(places::source("machines/hgx-h200-4.json"), "").value().machine;
  machine::Machine machine = before;
  ASSERT_TRUE(apply_what_if(machine, "gpu0-nvswitch0.bandwidth=0.5x").ok());
  EXPECT_DOUBLE_EQ(machine.find("gpu0")->read_gbps->value, 0.5 * before.find("gpu0")->read_gbps->value);
  EXPECT_DOUBLE_EQ(machine.find("gpu1")->read_gbps->value, before.find("gpu1")->read_gbps->value);
  machine = before;
  ASSERT_TRUE(apply_what_if(machine, "pcie.bandwidth=2x").ok());
  EXPECT_DOUBLE_EQ(machine.find("gpu0")->read_gbps->value, before.find("gpu0")->read_gbps->value) << "of NVLink";
}

TEST(WhatIf, WhatMakesNoSenseIsNamed) {
  const auto refused = [](std::string_view text) {
    machine::Machine machine = mist();
    return apply_what_if(machine, text).text();
  };
  EXPECT_THAT(refused("nvlink"), HasSubstr("gives no value"));
  EXPECT_THAT(refused("nvlink.latency=2x"), HasSubstr("names no bandwidth"));
  EXPECT_THAT(refused("nvlink=2x"), HasSubstr("names no bandwidth"));
  for (const char* value : {"", "x", "0", "-1", "2xx", "fast", "1e99", "nan"})
    EXPECT_THAT(refused("nvlink.bandwidth=" + std::string(value)), HasSubstr("gives no positive number")) << value;
  EXPECT_THAT(refused("gpu0-gpu9.bandwidth=1"),
              testing::AllOf(HasSubstr("no link 'gpu0-gpu9'"), HasSubstr("socket")));
}

}  // namespace
}  // namespace sennit::sim
