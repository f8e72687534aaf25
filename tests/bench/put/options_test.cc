#include "bench/put/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/units.h"

namespace sennit::bench::put {
namespace {

using testing::HasSubstr;

machine::Machine four() {
  machine::Machine machine;
  machine.name = "four";
  for (int i = 0; i < 4; ++i) {
    machine::Device gpu;
    gpu.id = "gpu" + std::to_string(i);
    gpu.uuid = "GPU-" + std::to_string(i);
    machine.devices.push_back(gpu);
  }
  machine::Device host;
  host.id = "host0";
  host.kind = machine::DeviceKind::host;
  machine.devices.push_back(host);
  return machine;
}

const std::vector<std::string> kIds = {"gpu1", "gpu0", "", "gpu3"};

TEST(Cases, CrossSizesWindowsAndTraffic) {
  Options options;
  options.sizes = {"4K", "1M"};
  options.windows = {1, 64};
  options.traffic = {"both_ways", "one_way"};
  const auto cases = cases_of(options, device::Kind::host);
  ASSERT_TRUE(cases.ok());
  ASSERT_EQ(cases->size(), 8u);
  EXPECT_EQ((*cases)[0], (Case{4 * KiB, false, 1}));
  EXPECT_EQ((*cases)[3], (Case{4 * KiB, true, 64}));
  EXPECT_EQ((*cases)[7], (Case{MiB, true, 64}));
}

TEST(Cases, ReachAGigabyteOnGpusOnly) {
  EXPECT_EQ(cases_of({}, device::Kind::cuda)->back().bytes, GiB);
  EXPECT_EQ(std::ranges::count(*cases_of({}, device::Kind::cuda), Case{32 * MiB, false, 1}), 1);
  EXPECT_EQ(cases_of({}, device::Kind::host)->back().bytes, 16 * MiB);
  EXPECT_FALSE(cases_of({}, device::Kind::cuda)->back().both_ways);
}

TEST(Cases, RefuseSizesWithoutABandwidth) {
  Options options;
  for (const char* wrong : {"0", "-4K", "fast"}) {
    options.sizes = {wrong};
    EXPECT_EQ(cases_of(options, device::Kind::host).status().code(), Code::invalid_argument) << wrong;
  }
}

TEST(Pairs, FindDevicesByTheMachinesNames) {
  Options options;
  options.from = "gpu0";
  options.to = "GPU-3";
  const auto pairs = pairs_of(options, four(), kIds, "host0");
  ASSERT_TRUE(pairs.ok());
  ASSERT_EQ(pairs->size(), 1u);
  EXPECT_EQ(pairs->front().from.device, 1);  // the document's gpu0 is this process's device 1
  EXPECT_EQ(pairs->front().to.id, "gpu3");
}

TEST(Pairs, TakeHostMemoryByEitherName) {
  Options options;
  options.to = "gpu1";
  for (const char* name : {"host", "host0"}) {
    options.from = name;
    const auto pairs = pairs_of(options, four(), kIds, "host0");
    ASSERT_TRUE(pairs.ok());
    EXPECT_TRUE(pairs->front().from.is_host());
    EXPECT_EQ(pairs->front().from.id, "host0");
  }
}

TEST(Pairs, AreTheFirstOrEveryOrderedOne) {
  Options options;
  auto pairs = pairs_of(options, four(), kIds, "host0");
  ASSERT_EQ(pairs->size(), 1u);
  EXPECT_EQ(pairs->front().from.id, "gpu1");
  options.pairs = "all";
  EXPECT_EQ(pairs_of(options, four(), kIds, "host0")->size(), 6u);
}

TEST(Pairs, OfOneGpuAreItsHostLink) {
  const auto pairs = pairs_of({}, four(), {"gpu2"}, "host0");
  ASSERT_EQ(pairs->size(), 1u);
  EXPECT_TRUE(pairs->front().from.is_host());
  EXPECT_EQ(pairs->front().to.id, "gpu2");
}

TEST(Pairs, SayWhatIsWrong) {
  Options half;
  half.from = "gpu0";
  EXPECT_EQ(pairs_of(half, four(), kIds, "host0").status().code(), Code::invalid_argument);
  Options same = half;
  same.to = "GPU-0";
  EXPECT_EQ(pairs_of(same, four(), kIds, "host0").status().code(), Code::invalid_argument);
  Options none = half;
  none.to = "gpu9";
  const Status status = pairs_of(none, four(), kIds, "host0").status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_THAT(status.remedy(), HasSubstr("gpu1, gpu0"));
  Options hidden = half;
  hidden.to = "gpu2";
  EXPECT_THAT(pairs_of(hidden, four(), kIds, "host0").status().what(), HasSubstr("cannot be used by this process"));
}

}  // namespace
}  // namespace sennit::bench::put
