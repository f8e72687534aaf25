#include "base/nccl_name.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sennit {
namespace {

TEST(NcclName, ReadsBothNumberings) {
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(2708), "2.7.8");
}

TEST(NcclName, SaysWhatTheEnvironmentDecides) {
  ::unsetenv("NCCL_NVLS_ENABLE");
  EXPECT_EQ(nccl_name("2.28.9"), "2.28.9");
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);
  EXPECT_EQ(nccl_name("2.28.9"), "2.28.9 with NCCL_NVLS_ENABLE=0");
  ::unsetenv("NCCL_NVLS_ENABLE");
}

}  // namespace
}  // namespace sennit
