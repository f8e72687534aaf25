#include "machine/nvml.h"
#include "places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace sennit::machine {
namespace {

TEST(ReadNvml, ReadsGpusLinksAndPairs) {
  unsetenv("FAKE_NVML");
  const NvmlReadings readings = read_nvml(places::built("fake_nvml"));
  ASSERT_TRUE(readings.present) << readings.problem;
  EXPECT_EQ(readings.driver, "580.159");
  EXPECT_EQ(readings.cuda, "13.1");
  ASSERT_EQ(readings.gpus.size(), 2u) << "the GPU that answers an error is left out, the others are not";
  const NvmlGpu& gpu = readings.gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA ?100") << "text from a driver may be anything; documents hold UTF-8";
  EXPECT_EQ(gpu.uuid, "GPU-0");
  EXPECT_EQ(gpu.pci, "0000:1b:00.0");
  EXPECT_EQ(gpu.memory_bytes, 1ull << 40);
  EXPECT_EQ(gpu.pcie_max_generation, 5);
  EXPECT_EQ(gpu.pcie_width, 8);
  EXPECT_TRUE(gpu.fabric);
  ASSERT_EQ(gpu.nvlinks.size(), 4u);
  EXPECT_EQ(gpu.nvlinks[0].remote, NvlinkRemote::gpu);
  EXPECT_EQ(gpu.nvlinks[0].remote_pci, "0000:2b:00.0");
  EXPECT_DOUBLE_EQ(gpu.nvlinks[0].raw_gbps, 26.562);
  EXPECT_EQ(gpu.nvlinks[2].remote, NvlinkRemote::nvswitch);
  EXPECT_EQ(gpu.nvlinks[2].remote_pci, "");
  EXPECT_FALSE(gpu.nvlinks[3].active);
  ASSERT_EQ(readings.pairs.size(), 1u);
  EXPECT_EQ(readings.pairs[0].ancestor, Ancestor::switches);
  EXPECT_EQ(readings.pairs[0].peer_read, true);
  EXPECT_EQ(readings.pairs[0].peer_write, false);
}

TEST(ReadNvml, SaysWhyThereIsNone) {
  const NvmlReadings missing = read_nvml("libnvidia-ml-of-nobody.so.1");
  EXPECT_FALSE(missing.present);
  EXPECT_THAT(missing.problem, testing::HasSubstr("libnvidia-ml-of-nobody.so.1"));
  setenv("FAKE_NVML", "no_driver", 1);
  const NvmlReadings asleep = read_nvml(places::built("fake_nvml"));
  unsetenv("FAKE_NVML");
  EXPECT_FALSE(asleep.present);
  EXPECT_THAT(asleep.problem, testing::HasSubstr("Driver Not Loaded"));
  EXPECT_TRUE(asleep.gpus.empty());
}

TEST(ReadNvml, RefusesALibraryOfAnotherKind) {
  const NvmlReadings readings = read_nvml("libdl.so.2");
  EXPECT_FALSE(readings.present);
  EXPECT_FALSE(readings.problem.empty());
}

}  // namespace
}  // namespace sennit::machine
