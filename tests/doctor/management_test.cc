#include "doctor/management.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::doctor {
namespace {

using machine::NvlinkRemote;
using machine::NvmlReadings;
using testing::HasSubstr;

TEST(Management, SaysWhatNvmlLists) {
  const Check check = judge_management(with_gpus(), nvswitch_machine(4, 18));
  EXPECT_EQ(check.state, State::works);
  EXPECT_EQ(check.detail, "Driver 580.159, 4 GPUs");
  EXPECT_EQ(judge_management(with_gpus(), nvswitch_machine(0, 0)).state, State::degraded);
  NvmlReadings absent;
  absent.problem = "libnvidia-ml.so.1 cannot be opened";
  const Check missing = judge_management(with_gpus(), absent);
  EXPECT_EQ(missing.state, State::missing);
  EXPECT_FALSE(missing.needed);
  EXPECT_THAT(missing.detail, HasSubstr("libnvidia-ml.so.1"));
  EXPECT_EQ(judge_management(told_host(), absent).state, State::not_applicable);
}

TEST(ManagementReadings, SayWhyThereAreNone) {
  Answer hung;
  hung.end = End::silent;
  hung.status = 15000;
  EXPECT_THAT(management_readings(hung).problem, HasSubstr("did not answer within 15 s"));
}

TEST(ManagementReadings, ReadWhatWasTold) {
  Answer answer;
  answer.end = End::finished;
  answer.lines.push_back(Json::parse(R"({"nvml": {"present": true, "problem": "", "driver": "580", "cuda": "13.0",
    "gpus": [{"name": "A", "uuid": "GPU-1", "pci": "0000:01:00.0", "fabric": true,
              "nvlinks": [{"index": 3, "active": true, "remote": 2, "pci": ""}]}],
    "pairs": [{"one": 0, "other": 1, "nvlink": null, "read": false}]}})"));
  const NvmlReadings nvml = management_readings(answer);
  ASSERT_EQ(nvml.gpus.size(), 1u);
  ASSERT_EQ(nvml.gpus[0].nvlinks.size(), 1u);
  EXPECT_EQ(nvml.gpus[0].nvlinks[0].remote, NvlinkRemote::nvswitch);
  ASSERT_EQ(nvml.pairs.size(), 1u);
  EXPECT_EQ(nvml.pairs[0].peer_read, false);
  EXPECT_EQ(nvml.pairs[0].peer_nvlink, std::nullopt);
}

TEST(Labels, FollowPciAddresses) {
  NvmlReadings nvml = nvswitch_machine(2, 0);
  std::swap(nvml.gpus[0], nvml.gpus[1]);
  const Labels label(nvml);
  EXPECT_EQ(label("0000:01:00.0"), "gpu0");
  EXPECT_EQ(label("0000:02:00.0"), "gpu1");
  EXPECT_EQ(label("0000:99:00.0"), "GPU at 0000:99:00.0");
}

TEST(NvlinksBetween, CountsDirectAndSwitchedOnes) {
  NvmlReadings nvml = nvswitch_machine(2, 18);
  EXPECT_EQ(nvlinks_between(nvml, 0, 1), 18);
  for (auto& link : nvml.gpus[0].nvlinks) link.remote = NvlinkRemote::gpu;
  nvml.gpus[0].nvlinks[0].remote_pci = nvml.gpus[0].nvlinks[1].remote_pci = "0000:02:00.0";
  EXPECT_EQ(nvlinks_between(nvml, 0, 1), 2);
  nvml.gpus[0].nvlinks[0].active = nvml.gpus[0].nvlinks[1].active = false;
  EXPECT_EQ(nvlinks_between(nvml, 0, 1), 0);
}

TEST(NvlinksBetween, BelievesThePairWhereSwitchesAreHidden) {
  NvmlReadings nvml = nvswitch_machine(2, 18);
  for (auto& gpu : nvml.gpus)
    for (auto& link : gpu.nvlinks) link.remote = NvlinkRemote::unknown;
  machine::NvmlPair pair;
  pair.one = 0;
  pair.other = 1;
  pair.peer_nvlink = true;
  nvml.pairs = {pair};
  EXPECT_EQ(nvlinks_between(nvml, 1, 0), 18);
  nvml.pairs[0].peer_nvlink = false;
  EXPECT_EQ(nvlinks_between(nvml, 1, 0), 0);
}

TEST(Nvlinks, WorkWhenAllGpusHaveTheSame) {
  const Check check = judge_nvlinks(with_gpus(), nvswitch_machine(4, 18));
  EXPECT_EQ(check.state, State::works);
  EXPECT_EQ(check.detail, "18 links active on each of 4 GPUs, to NVSwitches, fabric registered");
  NvmlReadings partly = nvswitch_machine(2, 6);
  for (auto& gpu : partly.gpus) gpu.nvlinks[5].active = false;
  EXPECT_EQ(judge_nvlinks(with_gpus(), partly).state, State::works) << "links that a machine does not connect";
}

TEST(Nvlinks, AreAFaultWhereOneGpuHasFewer) {
  NvmlReadings nvml = nvswitch_machine(4, 18);
  nvml.gpus[2].nvlinks[7].active = false;
  const Check check = judge_nvlinks(with_gpus(), nvml);
  EXPECT_EQ(check.state, State::degraded);
  EXPECT_THAT(check.detail, HasSubstr("gpu2 1 of 18"));
  for (auto& gpu : nvml.gpus)
    for (auto& link : gpu.nvlinks) link.active = false;
  EXPECT_THAT(judge_nvlinks(with_gpus(), nvml).fix, HasSubstr("nvidia-fabricmanager"));
  EXPECT_EQ(judge_nvlinks(with_gpus(), nvswitch_machine(2, 0)).state, State::not_applicable);
}

}  // namespace
}  // namespace sennit::doctor
