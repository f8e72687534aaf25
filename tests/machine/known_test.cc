#include "machine/known.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "machine/cache.h"
#include "machine/made_up.h"

namespace sennit::machine {
namespace {

class KnownMachine : public testing::Test {
 protected:
  void SetUp() override {
    setenv("SENNIT_CACHE", scratch_folder().c_str(), 1);
    unsetenv("SENNIT_MACHINE");
  }
  void TearDown() override {
    unsetenv("SENNIT_CACHE");
    unsetenv("SENNIT_MACHINE");
  }
};

TEST_F(KnownMachine, IsDiscoveredUntilMeasured) {
  auto known = known_machine({}, "host");
  ASSERT_TRUE(known.ok()) << known.status().text();
  EXPECT_TRUE(known->discovered);
  Machine measured = known->machine;
  measured.description = "kept";
  ASSERT_TRUE(store_cached(measured).ok());
  known = known_machine({}, "host");
  ASSERT_TRUE(known.ok());
  EXPECT_FALSE(known->discovered);
  EXPECT_EQ(known->machine.description, "kept");
}

TEST_F(KnownMachine, IsTheOneThatIsNamed) {
  setenv("SENNIT_MACHINE", "mist", 1);
  EXPECT_EQ(known_machine({}, "host")->machine.name, "mist");
  EXPECT_FALSE(known_machine({}, "host")->discovered);
  EXPECT_EQ(known_machine("cedar", "host")->machine.name, "cedar") << "what is asked for goes before the environment";
  EXPECT_EQ(known_machine("atlantis", "host").status().code(), Code::not_found);
}

}  // namespace
}  // namespace sennit::machine
