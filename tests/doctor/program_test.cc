// The program as users run it: real processes, this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "doctor/ask.h"
#include "made_up.h"
#include "places.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

struct Ran {
  int status = -1;
  std::map<std::string, Json> checks;
};

Ran doctor(const std::vector<std::string>& arguments) {
  std::vector<Question> questions(1);
  questions[0].program = places::built("sennit-doctor");
  questions[0].arguments = arguments;
  questions[0].plain = true;
  questions[0].opening = std::chrono::seconds(60);
  const Answer answer = std::move(ask(std::move(questions)).front());
  Ran ran;
  ran.status = answer.status;
  const Json document = Json::parse(answer.text, nullptr, false);
  if (!document.is_object()) return ran;
  for (const Json& check : document.value("checks", Json::array())) ran.checks[check.at("id")] = check;
  return ran;
}

TEST(Doctor, FindsTheHostExecutorWorking) {
  const Ran ran = doctor({"--executor", "host"});
  EXPECT_EQ(ran.status, 0);
  ASSERT_EQ(ran.checks.count("ipc_host"), 1u);
  EXPECT_EQ(ran.checks.at("ipc_host").at("state"), "works") << ran.checks.at("ipc_host").dump();
  EXPECT_EQ(ran.checks.at("ipc_host").at("needed"), true);
  for (const char* skipped :
       {"driver", "nvml", "gpus", "hidden_gpus", "nvlink", "p2p", "p2p_bytes", "ipc_handle", "ipc_file"})
    EXPECT_EQ(ran.checks.at(skipped).at("state"), "not_applicable") << skipped;
  for (const auto& [id, check] : ran.checks) {
    const std::string state = check.at("state");
    EXPECT_NE(check.at("detail"), "") << id;
    EXPECT_EQ(check.at("fix") == "", state == "works" || state == "not_applicable") << check.dump();
  }
}

TEST(Doctor, LacksWhatIsForbidden) {
  setenv("SENNIT_IPC", "0", 1);
  const Ran ran = doctor({"--executor", "host"});
  unsetenv("SENNIT_IPC");
  EXPECT_EQ(ran.status, 3);
  EXPECT_EQ(ran.checks.at("ipc_host").at("state"), "missing");
  EXPECT_EQ(ran.checks.at("ipc_host").at("fix"), "Unset SENNIT_IPC");
}

TEST(Doctor, SurvivesADriverThatCrashesOrDoesNotStart) {
  setenv("LD_LIBRARY_PATH", std::filesystem::path(places::built("fake_driver")).parent_path().c_str(), 1);
  setenv("FAKE_DRIVER", "crash", 1);
  const Ran crashed = doctor({"--executor", "cuda"});
  setenv("FAKE_DRIVER", "not_ready", 1);
  const Ran asleep = doctor({"--executor", "cuda"});
  setenv("FAKE_DRIVER", "", 1);
  const Ran fine = doctor({"--executor", "cuda"});
  unsetenv("FAKE_DRIVER");
  unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(crashed.status, 3);
  EXPECT_THAT(crashed.checks.at("driver").at("detail"), HasSubstr("crashed"));
  EXPECT_EQ(asleep.status, 3);
  EXPECT_THAT(asleep.checks.at("driver").at("fix"), HasSubstr("nvidia-fabricmanager"));
  EXPECT_EQ(fine.checks.at("driver").at("state"), "works") << fine.checks.at("driver").dump();
  EXPECT_THAT(fine.checks.at("gpus").at("detail"), HasSubstr("1 × Made-up GPU"));
}

TEST(Doctor, RefusesWrongUsage) {
  EXPECT_EQ(doctor({"--executor", "abacus"}).status, 2);
  EXPECT_EQ(doctor({"--probe", "nonsense"}).status, 2);
  setenv("SENNIT_EXECUTOR", "abacus", 1);
  EXPECT_EQ(doctor({}).status, 2);
  unsetenv("SENNIT_EXECUTOR");
}

}  // namespace
}  // namespace sennit::doctor
