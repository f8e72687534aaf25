#include "doctor/situation.h"

#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::doctor {
namespace {

TEST(Situation, UsesGpusThatAreHereOrAskedFor) {
  const auto root = scratch();
  EXPECT_FALSE(read_situation("auto", root).gpus());
  EXPECT_TRUE(read_situation("cuda", root).gpus());
  write(root / "dev/nvidia0", "");
  EXPECT_TRUE(read_situation("auto", root).gpus());
  EXPECT_FALSE(read_situation("host", root).gpus());
}

TEST(Situation, SaysWhyGpusAreNotUsed) {
  EXPECT_EQ(without_gpus().why_no_gpus(), "No NVIDIA GPU on this machine");
  EXPECT_EQ(told_host().why_no_gpus(), "Skipped: the host executor was asked for");
}

}  // namespace
}  // namespace sennit::doctor
