#include "doctor/ask.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace sennit::doctor {
namespace {

using std::chrono::milliseconds;

/// A shell as the one that answers: descriptor 3 is where answers go.
Question shell(const std::string& script) {
  Question question;
  question.program = "/bin/sh";
  question.arguments = {"-c", script};
  question.opening = milliseconds(10000);
  question.silence = milliseconds(10000);
  return question;
}

Answer ask_one(Question question) {
  std::vector<Question> questions;
  questions.push_back(std::move(question));
  return std::move(ask(std::move(questions)).front());
}

TEST(Ask, CollectsLinesAndTheExitCode) {
  const Answer answer =
      ask_one(shell(R"(echo '{"a": 1}' >&3; echo chatter; echo noise >&3; echo '{"b": 2}' >&3; exit 7)"));
  EXPECT_EQ(answer.end, End::finished);
  EXPECT_EQ(answer.status, 7);
  EXPECT_EQ(answer.trouble(), "");
  ASSERT_EQ(answer.lines.size(), 2u) << "what is not JSON was not told";
  ASSERT_NE(answer.find("b"), nullptr);
  EXPECT_EQ(*answer.find("b"), 2);
  EXPECT_EQ(answer.find("c"), nullptr);
}

TEST(Ask, EndsWhatStaysSilent) {
  Question question = shell("sleep 60");
  question.opening = milliseconds(150);
  const auto before = std::chrono::steady_clock::now();
  const Answer answer = ask_one(std::move(question));
  EXPECT_LT(std::chrono::steady_clock::now() - before, milliseconds(5000));
  EXPECT_EQ(answer.end, End::silent);
  EXPECT_THAT(answer.trouble(), testing::HasSubstr("did not answer within 1 s"));
}

TEST(Ask, KeepsWhatWasToldBeforeTheSilence) {
  Question question = shell(R"(echo '{"trying": [0, 1]}' >&3; sleep 60)");
  question.silence = milliseconds(150);
  const Answer answer = ask_one(std::move(question));
  EXPECT_EQ(answer.end, End::silent);
  ASSERT_NE(answer.find("trying"), nullptr);
}

TEST(Ask, NoticesCrashesAndStrangers) {
  const Answer crashed = ask_one(shell("kill -SEGV $$"));
  EXPECT_EQ(crashed.end, End::crashed);
  EXPECT_EQ(crashed.status, SIGSEGV);
  Question nobody;
  nobody.program = "/no/such/program";
  const Answer absent = ask_one(std::move(nobody));
  EXPECT_EQ(absent.end, End::not_started);
  EXPECT_EQ(absent.status, ENOENT);
  EXPECT_NE(absent.trouble(), "");
}

TEST(Ask, AsksAllAtOnce) {
  std::vector<Question> questions;
  for (int i = 0; i < 6; ++i) questions.push_back(shell(R"(sleep 0.5; echo '{"done": true}' >&3)"));
  const auto before = std::chrono::steady_clock::now();
  const std::vector<Answer> answers = ask(std::move(questions));
  EXPECT_LT(std::chrono::steady_clock::now() - before, milliseconds(2500)) << "one after the other takes 3 s";
  for (const Answer& answer : answers) EXPECT_NE(answer.find("done"), nullptr);
}

TEST(Ask, TakesTheOutputOfPlainPrograms) {
  Question question = shell("echo release 13.0; echo more");
  question.plain = true;
  EXPECT_EQ(ask_one(std::move(question)).text, "release 13.0\nmore\n");
}

TEST(Ask, HandsAFileOnAndClosesItsOwn) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  Question question = shell("echo hello >&4");
  question.file = UniqueFd(ends[1]);
  EXPECT_EQ(ask_one(std::move(question)).end, End::finished);
  char bytes[16];
  EXPECT_EQ(read(reader.get(), bytes, sizeof bytes), 6);
  EXPECT_EQ(read(reader.get(), bytes, sizeof bytes), 0) << "no writer is left";
}

TEST(Ask, LeavesNoProcessBehind) {
  Question question = shell(R"(echo "{\"pid\": $$}" >&3; exec sleep 60)");
  question.silence = milliseconds(100);
  const Answer answer = ask_one(std::move(question));
  ASSERT_NE(answer.find("pid"), nullptr);
  EXPECT_EQ(kill(answer.find("pid")->get<pid_t>(), 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

}  // namespace
}  // namespace sennit::doctor
