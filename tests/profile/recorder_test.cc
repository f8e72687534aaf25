#include "profile/recorder.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "profile/made_up.h"

namespace sennit::profile {
namespace {

TEST(Recorder, SumsAreExactWhenTheRingIsFull) {
  const MadeUp made(0, 1);
  constexpr std::uint64_t kCalls = 10 * kCallsInBlock + 3;
  for (std::uint64_t i = 0; i < kCalls; ++i) made.call("MPI_Bcast", 1000 * i, 1000 * i + 10 + i % 2, 8);
  const Rank rank = made.read().value();
  ASSERT_EQ(rank.sums.size(), 1u);
  EXPECT_EQ(rank.sums[0].calls, kCalls);
  EXPECT_EQ(rank.sums[0].bytes_in, 8 * kCalls);
  EXPECT_EQ(rank.sums[0].ns, 10 * kCalls + kCalls / 2);
  EXPECT_EQ(rank.sums[0].least_ns, 10u);
  EXPECT_EQ(rank.sums[0].most_ns, 11u);
  EXPECT_EQ(rank.calls.size() + rank.calls_lost, kCalls);
  EXPECT_EQ(rank.calls.size(), 3 * kCallsInBlock + 3) << "the oldest go";
  EXPECT_EQ(rank.calls.back().call.begin, 1000 * (kCalls - 1));
  for (std::size_t i = 1; i < rank.calls.size(); ++i)
    EXPECT_EQ(rank.calls[i].call.begin, rank.calls[i - 1].call.begin + 1000) << "in order, without a hole";
}

TEST(Recorder, ThreadsLoseNothing) {
  constexpr int kThreads = kOwners + 3, kCalls = 5000;
  const MadeUp made(0, 1, sizeof(Tables) + 2 * kThreads * sizeof(Block));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&made, t] {
      for (std::uint64_t i = 0; i < kCalls; ++i)
        made.call(i % 2 == 0 ? "MPI_Send" : "MPI_Recv", i, i + 5, i % 3 * 1000 + static_cast<std::uint64_t>(t));
      made.recorder->count_message(t, true, 3);
    });
  for (std::thread& thread : threads) thread.join();
  const Rank rank = made.read().value();
  std::uint64_t calls = 0, ns = 0;
  for (const Sums& sums : rank.sums) {
    calls += sums.calls;
    ns += sums.ns;
  }
  EXPECT_EQ(calls, std::uint64_t{kThreads} * kCalls) << "those with sums of their own, and those without";
  EXPECT_EQ(ns, 5u * kThreads * kCalls);
  EXPECT_EQ(rank.calls.size() + rank.calls_lost, std::uint64_t{kThreads} * kCalls);
  EXPECT_EQ(rank.threads, static_cast<std::uint32_t>(kThreads));
  EXPECT_EQ(rank.messages.size(), static_cast<std::size_t>(kThreads));
}

/// The clock that profiles are written by says what CLOCK_MONOTONIC says.
TEST(Recorder, ItsClockIsTheMachines) {
  const auto recorder = Recorder::in_memory(sizeof(Tables) + sizeof(Block), Clock::best()).value();
  MadeUp::name_first(*recorder);
  recorder->function("MPI_Barrier");
  recorder->communicator({});
  const std::uint64_t before = now_ns();
  const std::uint64_t time = recorder->now();
  const std::uint64_t after = now_ns();
  Call call{};
  call.begin = call.end = time;
  recorder->record(call);
  const Rank rank = read_rank(recorder->bytes(), "it").value();
  constexpr std::uint64_t kError = 1'000'000;
  EXPECT_GT(rank.calls.at(0).call.begin + kError, before);
  EXPECT_LT(rank.calls.at(0).call.begin, after + kError);
}

TEST(Recorder, TooManyNamesAreOthers) {
  const MadeUp made(0, 1);
  for (std::size_t i = 0; i < 2 * kReductions; ++i) made.recorder->reduction("op" + std::to_string(i));
  EXPECT_EQ(made.recorder->reduction("one more"), kReductions - 1);
  EXPECT_EQ(made.recorder->reduction("op3"), made.recorder->reduction("op3"));
  EXPECT_EQ(made.read().value().reductions.back(), "others");
}

/// More classes than slots: sums by function stay exact.
TEST(Recorder, ClassesBeyondTheTableAreSummedByFunction) {
  const MadeUp made(0, 1);
  Call call{};
  call.function = made.recorder->function("MPI_Send");
  call.end = 4;
  Communicator other{};
  while (made.recorder->communicator(other) + std::size_t{1} < kCommunicators) {
  }
  std::uint64_t calls = 0;
  for (std::size_t communicator = 0; communicator < kCommunicators; ++communicator)
    for (std::uint64_t bin = 0; bin < 12; ++bin, ++calls) {
      call.communicator = static_cast<std::uint16_t>(communicator);
      call.bytes_in = bin == 0 ? 0 : std::uint64_t{1} << bin;
      made.recorder->record(call);
    }
  const Rank rank = made.read().value();
  EXPECT_GT(rank.classes_lost, 0u);
  EXPECT_EQ(rank.sums.back().of.bin, kUnknownBin);
  std::uint64_t counted = 0;
  for (const Sums& sums : rank.sums) counted += sums.calls;
  EXPECT_EQ(counted, calls);
}

TEST(Recorder, NeverTakesAFileThatIsThere) {
  const auto file = std::filesystem::path(testing::TempDir()) / "taken.sennit";
  std::ofstream(file) << "somebody's";
  EXPECT_EQ(Recorder::create(file).status().code(), Code::system_error);
  EXPECT_EQ(std::filesystem::file_size(file), 10u);
  std::filesystem::remove(file);
  EXPECT_EQ(Recorder::create(file, 100).status().code(), Code::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(file)) << "what could not be begun is taken away";
  const auto folder = std::filesystem::path(testing::TempDir()) / "no folder" / "file";
  EXPECT_EQ(Recorder::create(folder).status().code(), Code::system_error);
}

TEST(Recorder, ALimitOfFilesIsNoSignal) {
  const auto file = std::filesystem::path(testing::TempDir()) / "limited.sennit";
  std::filesystem::remove(file);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto create_within = [&](std::uint64_t limit) {
    const rlimit now{limit, before.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &now), 0);
    auto made = Recorder::create(file);
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    return made;
  };
  const Status status = create_within(sizeof(Tables)).status();
  EXPECT_EQ(status.code(), Code::out_of_memory);
  EXPECT_NE(status.text().find("ulimit -f"), std::string::npos) << status.text();
  EXPECT_FALSE(std::filesystem::exists(file));
  const auto shorter = create_within(sizeof(Tables) + 2 * sizeof(Block) + 100);
  ASSERT_TRUE(shorter.ok()) << shorter.status().text();
  EXPECT_EQ((*shorter)->header().blocks, 2u);
  EXPECT_TRUE(read_rank(file).ok());
  std::filesystem::remove(file);
}

TEST(Recorder, AFullDiskIsFoundAtTheStart) {
  const auto file = std::filesystem::path("/dev/shm") / ("full-" + std::to_string(getpid()) + ".sennit");
  constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 46;
  if (!std::filesystem::is_directory("/dev/shm") || std::filesystem::space("/dev/shm").capacity > kTooMuch)
    GTEST_SKIP() << "no disk is small enough";
  EXPECT_EQ(Recorder::create(file, kTooMuch).status().code(), Code::out_of_memory);
  EXPECT_FALSE(std::filesystem::exists(file)) << "what could not be begun is taken away";
}

TEST(Recorder, TheFileIsThereBeforeItsWriterEnds) {
  const auto file = std::filesystem::path(testing::TempDir()) / "there.sennit";
  std::filesystem::remove(file);
  const auto recorder = Recorder::create(file, sizeof(Tables) + sizeof(Block)).value();
  MadeUp::name_first(*recorder);
  recorder->function("MPI_Barrier");
  recorder->communicator({});
  Call call{};
  call.begin = 10;
  call.end = 30;
  recorder->record(call);
  const Rank rank = read_rank(file).value();
  EXPECT_EQ(rank.end, End::running);
  EXPECT_EQ(rank.calls.size(), 1u);
  EXPECT_EQ(rank.last_ns, 30u) << "of what is known, where nobody said when the end was";
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace sennit::profile
