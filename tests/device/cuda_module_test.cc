#include "device/cuda_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "places.h"

namespace sennit::device {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

fs::path folder_of(std::string_view module) {
  return fs::path(places::built(module)).parent_path();
}

TEST(CudaModule, IsOpenedWhereItLies) {
  const auto module = cuda_module({"/nowhere", folder_of("ours"), folder_of("other")});
  ASSERT_TRUE(module.ok()) << module.status().text();
  EXPECT_STREQ((*module)->toolkit, "13.0.88");
  EXPECT_STREQ((*module)->architectures, "90");
  const auto executor = (*module)->open(-1);
  ASSERT_TRUE(executor.ok()) << executor.status().text();
  EXPECT_EQ((*executor)->kind(), Kind::host);
  EXPECT_FALSE((*executor)->devices().empty());
}

TEST(CudaModule, IsMissedWhereCudaWasLeftOut) {
  const auto module = cuda_module({"/nowhere", fs::temp_directory_path() / "nothing here"});
  EXPECT_EQ(module.status().code(), Code::unsupported);
  EXPECT_THAT(module.status().text(), HasSubstr("Install a CUDA toolkit"));
}

TEST(CudaModule, IsRefusedOfAnotherVersion) {
  const auto module = cuda_module({folder_of("other")});
  EXPECT_EQ(module.status().code(), Code::corrupt);
  EXPECT_THAT(module.status().text(), HasSubstr("it is of sennit 0.0.9"));
  EXPECT_THAT(module.status().text(), HasSubstr(places::built("other")));
}

TEST(CudaModule, IsRefusedWhereItIsNone) {
  EXPECT_THAT(cuda_module({folder_of("foreign")}).status().text(), HasSubstr("no library of sennit's"));
  const fs::path folder = fs::path(testing::TempDir()) / "damaged_cuda_module";
  fs::create_directories(folder);
  std::ofstream(folder / "libsennit-cuda.so") << "no library at all";
  const auto module = cuda_module({folder});
  fs::remove_all(folder);
  EXPECT_EQ(module.status().code(), Code::corrupt);
  EXPECT_THAT(module.status().text(), HasSubstr("cannot be loaded"));
}

}  // namespace
}  // namespace sennit::device
