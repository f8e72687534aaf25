// Partitioned messages on GPUs, byte for byte: on two, where there are so many, and between two ranks of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_jobs.h"

namespace sennit::gpu {
namespace {

/// Which GPUs the ranks see.
class Partitioned : public testing::TestWithParam<std::string> {
 protected:
  static std::map<std::string, std::string> visible() {
    return GetParam().empty() ? std::map<std::string, std::string>{}
                              : std::map<std::string, std::string>{{"CUDA_VISIBLE_DEVICES", GetParam()}};
  }
};

TEST_P(Partitioned, ArriveWhole) {
  expect_all_right(run_on_gpus(2, {"partitioned", "malloc", "malloc", "24", "6"}, visible()));
  expect_all_right(run_on_gpus(2, {"partitioned", "vmm", "pinned", "50000000", "6"}, visible()));
  expect_all_right(run_on_gpus(2, {"partitioned", "shared_pool", "pool", "999999", "12"}, visible()));
}

TEST_P(Partitioned, ArriveEarly) {
  for (const char* bytes : {"64", "16777216"})
    expect_all_right(run_on_gpus(2, {"partitioned_early", bytes}, visible()));
}

INSTANTIATE_TEST_SUITE_P(Gpus, Partitioned, testing::Values("", "0"));

}  // namespace
}  // namespace sennit::gpu
