#include "machine/discover.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "machine/validate.h"

namespace sennit::machine {
namespace {

TEST(Discover, GivesAValidMachineHereWhateverIsInstalled) {
  const Machine machine = discover();
  EXPECT_EQ(validate(machine).text(), "ok");
  EXPECT_NE(machine.find("host0"), nullptr);
  EXPECT_EQ(machine.date, today());
}

TEST(Discover, IsTheSameMachineASecondTime) {
  EXPECT_EQ(discover().fingerprint, discover().fingerprint);
}

TEST(ThisMachine, OfTheHostExecutorHasAsManyDevicesAsAsked) {
  setenv("SENNIT_HOST_DEVICES", "3", 1);
  const Result<Machine> machine = this_machine("host");
  unsetenv("SENNIT_HOST_DEVICES");
  ASSERT_TRUE(machine.ok()) << machine.status().text();
  EXPECT_NE(machine->find("gpu2"), nullptr);
  EXPECT_EQ(machine->find("gpu3"), nullptr);
}

TEST(ThisMachine, RefusesWhatCannotBe) {
  for (const char* devices : {"0", "-1", "65", "many"}) {
    setenv("SENNIT_HOST_DEVICES", devices, 1);
    EXPECT_EQ(this_machine("host").status().code(), Code::invalid_argument) << devices;
  }
  unsetenv("SENNIT_HOST_DEVICES");
  EXPECT_EQ(this_machine("opencl").status().code(), Code::invalid_argument);
}

TEST(ThisMachine, FollowsTheEnvironmentWhenNothingIsAsked) {
  setenv("SENNIT_EXECUTOR", "host", 1);
  const Result<Machine> machine = this_machine("");
  unsetenv("SENNIT_EXECUTOR");
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->find("gpu0")->uuid, "HOST-0");
}

TEST(ThisMachine, OfCudaNeedsAGpu) {
  const Result<Machine> machine = this_machine("cuda");
  if (!machine.ok()) {
    EXPECT_EQ(machine.status().code(), Code::unsupported);
    EXPECT_FALSE(machine.status().remedy().empty());
  } else {
    EXPECT_NE(machine->find("gpu0"), nullptr);
  }
}

}  // namespace
}  // namespace sennit::machine
