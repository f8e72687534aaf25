#include "device/cuda/kernel.h"

#include <gtest/gtest.h>

#include <array>

namespace sennit::device {
namespace {

TEST(KernelOf, IsFoundByTheTypeAndRemembered) {
  const std::array places{1, 2};
  std::array kernels{Kernel{"first", &places[0]}, Kernel{"second", &places[1]}};
  const Program program{.name = "copy", .argument_bytes = 8, .host = nullptr, .trace = nullptr, .type = "second"};
  EXPECT_EQ(kernel_of(program, kernels), &places[1]);
  EXPECT_EQ(kernel_of(program, {}), &places[1]);
}

TEST(KernelOf, IsNullForWhatWasNotCompiled) {
  const std::array kernels{Kernel{"first", nullptr}};
  const Program program{.name = "copy", .argument_bytes = 8, .host = nullptr, .trace = nullptr, .type = "third"};
  EXPECT_EQ(kernel_of(program, kernels), nullptr);
}

}  // namespace
}  // namespace sennit::device
