// A communicator of one rank in the process of the test, on the host executor.
#pragma once

#include <cstdlib>

#include <gtest/gtest.h>

#include "sennit/sennit.h"

namespace sennit::capi {

class Alone : public testing::Test {
 protected:
  void SetUp() override {
    setenv("SENNIT_EXECUTOR", "host", 1);
    setenv("SENNIT_CACHE", "/nonexistent/sennit", 1);
    for (const char* name : {"SENNIT_RANK", "SENNIT_SIZE", "SENNIT_RENDEZVOUS", "SENNIT_SPLIT", "SENNIT_MACHINE"})
      unsetenv(name);
    ASSERT_EQ(sennit_comm_create(nullptr, &comm), SENNIT_OK) << sennit_last_error();
  }
  void TearDown() override { EXPECT_EQ(sennit_comm_destroy(comm), SENNIT_OK) << sennit_last_error(); }

  sennit_comm* comm = nullptr;
};

}  // namespace sennit::capi
