// The launcher's own promises: what ranks print, how they end, and that they do end.
#include "comm/launch.h"

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job.h"

namespace sennit::comm {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

Launch shell(int ranks, const std::string& script, std::vector<std::string>* lines) {
  Launch job;
  job.ranks = ranks;
  job.command = {"sh", "-c", script};
  job.output = [lines](int rank, std::string_view line, bool error) {
    lines->push_back(std::to_string(rank) + (error ? "! " : ": ") + std::string(line));
  };
  return job;
}

bool alive(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  // A zombie that waits for a far parent to collect it is as dead as can be.
  return std::getline(stat, line) && line.find(") Z ") == std::string::npos;
}

bool ends(pid_t pid) {
  for (int i = 0; i < 500 && alive(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !alive(pid);
}

TEST(Launch, TellsEachRankItsPlaceAndForwardsWholeLines) {
  std::vector<std::string> lines;
  const auto ended = launch(shell(2, "echo rank $SENNIT_RANK of $SENNIT_SIZE; printf unfinished >&2", &lines));
  ASSERT_TRUE(ended.ok()) << ended.status().text();
  EXPECT_EQ(ended->status, 0);
  EXPECT_THAT(lines, UnorderedElementsAre("0: rank 0 of 2", "1: rank 1 of 2", "0! unfinished", "1! unfinished"));
}

TEST(Launch, AddsAndRemovesVariables) {
  std::vector<std::string> lines;
  Launch job = shell(1, "echo $COLOUR ${HOME-none}", &lines);
  job.environment = [](int) { return std::map<std::string, std::string>{{"COLOUR", "blue"}, {"HOME", ""}}; };
  ASSERT_TRUE(launch(job).ok());
  EXPECT_THAT(lines, ElementsAre("0: blue none"));
}

TEST(Launch, PassesOnWhatIsEmpty) {
  ::setenv("SENNIT_TEST_EMPTY", "", 1);
  std::vector<std::string> lines;
  ASSERT_TRUE(launch(shell(1, "echo ${SENNIT_TEST_EMPTY-none}", &lines)).ok());
  ::unsetenv("SENNIT_TEST_EMPTY");
  EXPECT_THAT(lines, ElementsAre("0: "));
}

TEST(Launch, EndsAllWhenOneFailsAndReturnsItsStatus) {
  std::vector<std::string> lines;
  const auto ended = launch(shell(3, "if [ $SENNIT_RANK = 1 ]; then exit 7; fi; sleep 60", &lines));
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->status, 7);
  EXPECT_EQ(ended->rank, 1);
  EXPECT_THAT(ended->statuses, ElementsAre(128 + SIGTERM, 7, 128 + SIGTERM));
}

TEST(Launch, DoesNotWaitForRanksThatIgnoreTheRequest) {
  std::vector<std::string> lines;
  const auto ended = launch(
      shell(2, "trap '' TERM; if [ $SENNIT_RANK = 0 ]; then sleep 0.5; kill -SEGV $$; fi; while :; do sleep 1; done",
            &lines));
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->status, 128 + SIGSEGV);
  EXPECT_EQ(ended->statuses[1], 128 + SIGKILL);
}

TEST(Launch, EndsWhatAFailedRankHadStarted) {
  std::vector<std::string> lines;
  const auto ended = launch(shell(1, "sleep 60 & echo $!; exit 3", &lines));
  ASSERT_TRUE(ended.ok());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(ends(std::stoi(lines[0].substr(3))));
}

TEST(Launch, SaysWhenThereIsNoSuchProgram) {
  Launch job;
  job.ranks = 2;
  job.command = {"no-such-program-anywhere"};
  EXPECT_EQ(launch(job).status().code(), Code::not_found);
  EXPECT_NE(launch(job).status().text().find("no-such-program-anywhere"), std::string::npos);
  job.command = {};
  EXPECT_EQ(launch(job).status().code(), Code::invalid_argument);
}

// As Ctrl-C does. The signal goes to this very process, whose own disposition must be back afterwards.
TEST(Launch, EndsAllOnASignal) {
  for (const int number : {SIGINT, SIGTERM}) {
    std::vector<std::string> lines;
    std::thread later;
    Launch job = shell(2, "echo $$; exec sleep 60", &lines);
    const auto keep = job.output;
    job.output = [&](int rank, std::string_view line, bool error) {
      keep(rank, line, error);
      if (lines.size() == 2) ::kill(::getpid(), number);
    };
    const auto ended = launch(job);
    ASSERT_TRUE(ended.ok());
    EXPECT_EQ(ended->status, 128 + number);
    for (const std::string& line : lines) EXPECT_FALSE(alive(std::stoi(line.substr(3))));
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL);
  }
}

// kill -9 of the launcher itself: here a rank of an outer job that launches an inner one.
TEST(Launch, TakesItsRanksAlongWhenKilled) {
  const Job outer = run_job(1, {"launch_and_die"});
  EXPECT_EQ(outer.ended.status, 128 + SIGKILL);
  ASSERT_EQ(outer.lines[0].size(), 2u) << outer.line(0);
  for (const std::string& pid : outer.lines[0]) EXPECT_TRUE(ends(std::stoi(pid)));
}

}  // namespace
}  // namespace sennit::comm
