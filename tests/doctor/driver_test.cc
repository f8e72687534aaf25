#include "doctor/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

DriverReadings driver(int version, double seconds = 0.2) {
  DriverReadings readings;
  readings.library = true;
  readings.version = version;
  readings.seconds = seconds;
  return readings;
}

TEST(Driver, MustBeAsNewAsTheToolkitsGeneration) {
  EXPECT_EQ(judge_driver(with_gpus(), driver(13000)).state, State::works);
  EXPECT_EQ(judge_driver(with_gpus(), driver(14010)).state, State::works);
  const Check old = judge_driver(with_gpus(), driver(12080));
  EXPECT_EQ(old.state, State::missing);
  EXPECT_TRUE(old.needed);
  EXPECT_THAT(old.detail, HasSubstr("supports CUDA 12.8, but this build needs CUDA 13.0"));
  Situation newer = with_gpus();
  newer.toolkit = "13.2.1";
  EXPECT_EQ(judge_driver(newer, driver(13000)).state, State::degraded);
}

TEST(Driver, OfABuildWithoutCudaNeedsNoToolkit) {
  Situation host_only = with_gpus();
  host_only.toolkit.clear();
  host_only.cuda_build = false;
  EXPECT_EQ(judge_driver(host_only, driver(12040)).state, State::works);
}

TEST(Driver, ThatStartsSlowlyNeedsPersistence) {
  const Check slow = judge_driver(with_gpus(), driver(13000, 7.5));
  EXPECT_EQ(slow.state, State::degraded);
  EXPECT_THAT(slow.detail, HasSubstr("7.5 s"));
  EXPECT_THAT(slow.fix, HasSubstr("nvidia-smi -pm 1"));
}

TEST(Driver, ThatDoesNotStartHasItsOwnRemedy) {
  DriverReadings readings = driver(13000);
  for (const auto& [code, fix] : {std::pair{802, "nvidia-fabricmanager"},
                                  {803, "reboot"},
                                  {999, "nvidia_uvm"},
                                  {100, "--gpus all"},
                                  {34, "stub"},
                                  {12345, "nvidia-smi"}}) {
    readings.code = code;
    const Check check = judge_driver(with_gpus(), readings);
    EXPECT_EQ(check.state, State::missing);
    EXPECT_THAT(check.fix, HasSubstr(fix)) << code;
    EXPECT_THAT(check.detail, HasSubstr(std::to_string(code)));
  }
}

TEST(Driver, ThatHangsOrIsAbsentIsMissing) {
  DriverReadings hung;
  hung.trouble = "did not answer within 15 s";
  EXPECT_THAT(judge_driver(with_gpus(), hung).detail, HasSubstr("did not answer within 15 s"));
  EXPECT_EQ(judge_driver(with_gpus(), hung).state, State::missing);
  DriverReadings absent;
  absent.reason = "libcuda.so.1: cannot open shared object file";
  EXPECT_THAT(judge_driver(with_gpus(), absent).fix, HasSubstr("Install the NVIDIA driver"));
}

TEST(Driver, DoesNotApplyWithoutGpus) {
  EXPECT_EQ(judge_driver(without_gpus(), {}).state, State::not_applicable);
  EXPECT_EQ(judge_driver(told_host(), {}).state, State::not_applicable);
  Situation asked = without_gpus();
  asked.executor = "cuda";
  EXPECT_EQ(judge_driver(asked, {}).state, State::missing) << "GPUs asked for by name are needed";
}

TEST(DriverReadings, KeepWhatWasToldBeforeACrash) {
  Answer answer;
  answer.end = End::crashed;
  answer.status = 11;
  EXPECT_THAT(driver_readings(answer).trouble, HasSubstr("signal 11"));
  answer.lines.push_back(Json::parse(
      R"({"library": true, "code": 0, "reason": "", "version": 13000, "seconds": 0.5,
          "devices": [{"pci": "0000:01:00.0", "model": "NVIDIA H200"}]})"));
  const DriverReadings readings = driver_readings(answer);
  EXPECT_EQ(readings.trouble, "");
  EXPECT_EQ(readings.version, 13000);
  ASSERT_EQ(readings.devices.size(), 1u);
  EXPECT_EQ(readings.devices[0].model, "NVIDIA H200");
}

}  // namespace
}  // namespace sennit::doctor
