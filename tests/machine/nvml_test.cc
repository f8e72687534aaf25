#include "machine/nvml.h"
#include "places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include <dlfcn.h>

namespace sennit::machine {
namespace {

/// What the stand-in is like, while it lives.
class Mode {
 public:
  explicit Mode(const char* name) { setenv("FAKE_NVML", name, 1); }
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;
  ~Mode() { unsetenv("FAKE_NVML"); }
};

/// What the stand-in counts, while it lives.
class Count {
 public:
  explicit Count(const char* name) : library_(dlopen(places::built("fake_nvml").c_str(), RTLD_NOW)) {
    count_ = library_ != nullptr ? static_cast<int*>(dlsym(library_, name)) : nullptr;
    before_ = count_ != nullptr ? *count_ : 0;
  }
  Count(const Count&) = delete;
  Count& operator=(const Count&) = delete;
  ~Count() {
    if (library_ != nullptr) dlclose(library_);
  }
  int added() const { return count_ != nullptr ? *count_ - before_ : -1; }

 private:
  void* library_;
  const int* count_;
  int before_;
};

TEST(ReadNvml, ReadsGpusLinksAndPairs) {
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
  EXPECT_EQ(readings.pairs[0].peer_nvlink, true);
}

TEST(ReadNvml, ReadsTheSpeedOfEachLinkWhereTheDriverKnowsIt) {
  const Mode newer("newer");
  const NvmlReadings readings = read_nvml(places::built("fake_nvml"));
  ASSERT_EQ(readings.gpus.size(), 2u);
  EXPECT_DOUBLE_EQ(readings.gpus[0].nvlinks[0].raw_gbps, 50.0);
  EXPECT_DOUBLE_EQ(readings.gpus[0].nvlinks[2].raw_gbps, 50.002);
  EXPECT_DOUBLE_EQ(readings.gpus[0].nvlinks[3].raw_gbps, 0) << "it is not active";
}

TEST(ReadNvml, PairsOverNvlinkAreAskedOneQuestion) {
  const Count questions("fake_nvml_questions");
  EXPECT_EQ(read_nvml(places::built("fake_nvml")).pairs[0].peer_read, std::nullopt);
  EXPECT_EQ(questions.added(), 1);
}

TEST(ReadNvml, OtherPairsReachEachOtherInBothDirections) {
  const Mode without("no_links");
  const Count questions("fake_nvml_questions");
  const NvmlReadings readings = read_nvml(places::built("fake_nvml"));
  EXPECT_EQ(readings.pairs[0].peer_nvlink, false);
  EXPECT_EQ(readings.pairs[0].peer_read, false);
  EXPECT_EQ(questions.added(), 3);
}

TEST(ReadNvml, WhatItFoundOutStaysForOthersWhoAsk) {
  const Count users("fake_nvml_users");
  (void)read_nvml(places::built("fake_nvml"));
  EXPECT_EQ(users.added(), 1) << "the last one that shuts it down has it forget";
}

TEST(ReadNvml, SaysWhyThereIsNone) {
  const NvmlReadings missing = read_nvml("libnvidia-ml-of-nobody.so.1");
  EXPECT_FALSE(missing.present);
  EXPECT_THAT(missing.problem, testing::HasSubstr("libnvidia-ml-of-nobody.so.1"));
  const Mode without_driver("no_driver");
  const NvmlReadings asleep = read_nvml(places::built("fake_nvml"));
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
