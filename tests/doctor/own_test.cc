#include "doctor/own.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

TEST(Build, MustHoldTheExecutorOfTheMachine) {
  EXPECT_EQ(judge_build(with_gpus()).detail, "Executors: cuda (toolkit 13.0.88), host");
  EXPECT_EQ(judge_build(without_gpus()).state, State::works);
  Situation host_build = with_gpus();
  host_build.cuda_build = false;
  const Check check = judge_build(host_build);
  EXPECT_EQ(check.state, State::missing);
  EXPECT_TRUE(check.needed);
}

TEST(Build, TellsWhyTheInstalledExecutorDoesNotLoad) {
  for (Situation broken : {with_gpus(), without_gpus()}) {
    broken.cuda_build = false;
    broken.cuda_trouble = "it is of sennit 0.0.9, the rest of 0.1.0";
    const Check check = judge_build(broken);
    EXPECT_EQ(check.state, State::missing);
    EXPECT_EQ(check.needed, broken.gpus());
    EXPECT_THAT(check.detail, HasSubstr("it is of sennit 0.0.9"));
  }
}

TEST(Measured, SaysWhenOrHowToMeasure) {
  OwnReadings readings;
  readings.fingerprint = "0123456789abcdef";
  EXPECT_EQ(judge_measured(with_gpus(), readings).fix, "sennit topo --measure");
  EXPECT_EQ(judge_measured(told_host(), readings).fix, "sennit topo --measure --executor host");
  readings.problem = "corrupt";
  EXPECT_EQ(judge_measured(with_gpus(), readings).state, State::degraded);
  readings.problem.clear();
  readings.kept = true;
  readings.measured = "2026-11-21";
  EXPECT_EQ(judge_measured(with_gpus(), readings).detail, "Measured on 2026-11-21");
  OwnReadings none;
  none.trouble = "did not answer within 15 s";
  EXPECT_THAT(judge_measured(with_gpus(), none).detail, HasSubstr("did not answer within 15 s"));
}

TEST(Tuned, SaysWhatMessagesFollow) {
  OwnReadings readings;
  EXPECT_EQ(judge_tuned(with_gpus(), readings).state, State::not_applicable);
  readings.fingerprint = "0123456789abcdef";
  EXPECT_THAT(judge_tuned(with_gpus(), readings).detail, HasSubstr("measures this machine first"));
  readings.kept = true;
  EXPECT_EQ(judge_tuned(with_gpus(), readings).state, State::missing);
  EXPECT_THAT(judge_tuned(with_gpus(), readings).detail, HasSubstr("direct path alone"));
  EXPECT_EQ(judge_tuned(with_gpus(), readings).fix, "sennit tune");
  EXPECT_EQ(judge_tuned(told_host(), readings).fix, "sennit tune --executor host");
  readings.tuned = "2026-11-21";
  EXPECT_EQ(judge_tuned(with_gpus(), readings).detail, "Tuned on 2026-11-21");
  readings.tuning_problem = "shares sum to 2, not 1";
  EXPECT_EQ(judge_tuned(with_gpus(), readings).state, State::degraded);
}

TEST(Hwloc, IsOptional) {
  OwnReadings readings;
  EXPECT_EQ(judge_hwloc(readings).state, State::missing);
  EXPECT_FALSE(judge_hwloc(readings).needed);
  readings.hwloc = true;
  readings.hwloc_version = "2.9.0";
  EXPECT_EQ(judge_hwloc(readings).detail, "Version 2.9.0");
}

TEST(OwnReadings, TakeAllLines) {
  Answer answer;
  answer.end = End::finished;
  answer.lines = {
      Json::parse(R"({"hwloc": true, "version": "2.9.0"})"),
      Json::parse(R"({"fingerprint": "0123456789abcdef", "problem": "", "kept": true, "measured": "2026-11-21"})"),
      Json::parse(R"({"tuned": "2026-11-22", "tuning_problem": "odd"})")};
  const OwnReadings readings = own_readings(answer);
  EXPECT_TRUE(readings.hwloc && readings.kept);
  EXPECT_EQ(readings.measured, "2026-11-21");
  EXPECT_EQ(readings.tuned, "2026-11-22");
  EXPECT_EQ(readings.tuning_problem, "odd");
}

}  // namespace
}  // namespace sennit::doctor
