#include "doctor/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

Answer finished(std::initializer_list<const char*> lines) {
  Answer answer;
  answer.end = End::finished;
  for (const char* line : lines) answer.lines.push_back(Json::parse(line));
  return answer;
}

TEST(Sharing, ReadsEachKindsOutcome) {
  const Answer giver = finished({R"({"opened": null})", R"({"sharing": "handle", "outcome": null})",
                                 R"({"sharing": "file", "outcome": {"code": 3, "what": "old driver", "where": "x",
                                     "remedy": "Update the driver"}})"});
  const SharingReadings handle = sharing_readings(giver, finished({}), Sharing::handle);
  EXPECT_EQ(judge_sharing(with_gpus(), handle, Sharing::handle, false).state, State::works);
  const Check file =
      judge_sharing(with_gpus(), sharing_readings(giver, finished({}), Sharing::file), Sharing::file, false);
  EXPECT_EQ(file.state, State::missing);
  EXPECT_FALSE(file.needed);
  EXPECT_EQ(file.detail, "Two processes cannot share it: old driver (x)");
  EXPECT_EQ(file.fix, "Update the driver");
}

TEST(Sharing, IsNeededByHandleOnGpusAndByFileElsewhere) {
  EXPECT_TRUE(judge_sharing(with_gpus(), {}, Sharing::handle, false).needed);
  EXPECT_FALSE(judge_sharing(with_gpus(), {}, Sharing::host, false).needed);
  EXPECT_TRUE(judge_sharing(without_gpus(), {}, Sharing::host, false).needed);
  EXPECT_EQ(judge_sharing(told_host(), {}, Sharing::handle, false).state, State::not_applicable);
}

TEST(Sharing, DoesNotSendPeopleToTheDoctorTheyAreAt) {
  SharingReadings readings;
  readings.outcome = Status(Code::unsupported, "cannot open", "", "`sennit doctor` tells which it is");
  EXPECT_THAT(judge_sharing(with_gpus(), readings, Sharing::handle, true).fix, HasSubstr("--ipc=host"));
  readings.outcome.reset();
  readings.opened = Status(Code::not_found, "no GPU answers");
  EXPECT_EQ(judge_sharing(with_gpus(), readings, Sharing::handle, true).state, State::not_applicable);
}

TEST(Sharing, SaysWhoFailed) {
  Answer hung = finished({R"({"opened": null})"});
  hung.end = End::silent;
  hung.status = 12000;
  const Check check = judge_sharing(
      with_gpus(), sharing_readings(finished({R"({"opened": null})"}), hung, Sharing::handle), Sharing::handle, true);
  EXPECT_EQ(check.state, State::missing);
  EXPECT_THAT(check.detail, HasSubstr("taking memory did not answer within 12 s"));
  EXPECT_THAT(check.fix, HasSubstr("--ipc=host"));
  EXPECT_EQ(judge_sharing(with_gpus(), {}, Sharing::handle, false).state, State::missing) << "silence is no success";
}

}  // namespace
}  // namespace sennit::doctor
