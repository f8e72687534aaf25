#include "machine/probe.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace sennit::machine {
namespace {

/// Readings of one GPU, called `name`.
NvmlReadings named(std::string name) {
  NvmlReadings readings;
  readings.gpus.emplace_back().name = std::move(name);
  return readings;
}

Readings of_host(std::string host) {
  Readings readings;
  readings.sysfs.host = std::move(host);
  return readings;
}

TEST(Probe, IsTakenOnce) {
  int looks = 0, rests = 0;
  Probe probe([&] { return named(std::to_string(++looks)); }, [&] { return of_host(std::to_string(++rests)); });
  for (int i = 0; i < 2; ++i) {
    const auto readings = probe.readings();
    EXPECT_EQ(readings->nvml.gpus.at(0).name, "1");
    EXPECT_EQ(readings->sysfs.host, "1");
  }
  probe.begin();
  EXPECT_EQ(probe.readings()->nvml.gpus.at(0).name, "1");
}

TEST(Probe, WithoutGpusIsTakenAgain) {
  bool asleep = true;
  Probe probe([&] { return asleep ? NvmlReadings() : named("awake"); }, [] { return of_host("here"); });
  EXPECT_TRUE(probe.readings()->nvml.gpus.empty());
  asleep = false;
  EXPECT_EQ(probe.readings()->nvml.gpus.at(0).name, "awake");
}

TEST(Probe, AheadIsWaitedFor) {
  std::atomic<bool> has_begun{false}, may_end{false};
  std::atomic<int> looks{0};
  std::thread::id reader;
  Probe probe(
      [&] {
        reader = std::this_thread::get_id();
        has_begun = true;
        has_begun.notify_all();
        may_end.wait(false);
        return named(std::to_string(++looks));
      },
      [] { return of_host("here"); });
  probe.begin();
  probe.begin();
  has_begun.wait(false);
  std::thread other([&] {
    may_end = true;
    may_end.notify_all();
  });
  EXPECT_EQ(probe.readings()->nvml.gpus.at(0).name, "1");
  other.join();
  EXPECT_EQ(looks, 1);
  EXPECT_NE(reader, std::this_thread::get_id());
}

TEST(Probe, AheadIsOverBeforeItsEnd) {
  std::atomic<bool> is_over{false};
  {
    Probe probe(
        [&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          is_over = true;
          return named("late");
        },
        [] { return of_host("here"); });
    probe.begin();
  }
  EXPECT_TRUE(is_over);
}

TEST(Probe, AnswersBehindItsEnd) {
  std::atomic<int> looks{0};
  Probe probe([&] { return named(std::to_string(++looks)); }, [] { return of_host("here"); });
  probe.begin();
  probe.end();
  EXPECT_EQ(looks, 1);
  probe.end();
  EXPECT_EQ(probe.readings()->nvml.gpus.at(0).name, "1");
  probe.begin();
  EXPECT_EQ(looks, 1);
}

TEST(Probe, AheadIsNotWaitedForInAForkedChild) {
  std::atomic<bool> may_end{false};
  auto probe = std::make_unique<Probe>(
      [&] {
        may_end.wait(false);
        return named("parent's");
      },
      [] { return of_host("here"); });
  probe->begin();
  const pid_t child = fork();
  if (child == 0) {
    probe.reset();  // hangs where it waits for a thread that is not here
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  may_end = true;
  may_end.notify_all();
}

}  // namespace
}  // namespace sennit::machine
