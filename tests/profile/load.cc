// A program that puts the profile's files under load, and says as JSON how they bore it. It is no test: it takes
// minutes. scripts/measure_profile.py runs it.
//   profile_load files FOLDER RANKS EVENTS   writes what RANKS processes of EVENTS calls each would have written
//   profile_load kills FOLDER TIMES          kills a process that records, and looks for calls that had ended
//   profile_load rate SECONDS THREADS        records 10^6 calls/s a thread, and compares the sums
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "made_up.h"
#include "profile/rank.h"
#include "profile/recorder.h"

namespace sennit::profile {
namespace {

using namespace std::chrono_literals;

/// Names that a process has, and its first communicator, of all ranks.
void name(Recorder& recorder, int rank, int ranks) {
  recorder.header().rank = rank;
  recorder.header().ranks = ranks;
  recorder.header().wall_ns = 1'760'000'000'000'000'000;
  set(recorder.header().host, "node");
  set(recorder.header().program, "made up");
  set(recorder.header().mpi, "MPICH");
  MadeUp::name_first(recorder);
  recorder.communicator({.id = 7,
                         .parent = 0,
                         .size = static_cast<std::uint32_t>(ranks),
                         .rank = static_cast<std::uint32_t>(rank),
                         .name = {}});
}

/// A halo exchange in a ring: two receives, two sends, a wait for all, and an allreduce after each fifth call.
void write_files(const std::filesystem::path& folder, int ranks, std::uint64_t events) {
  for (int rank = 0; rank < ranks; ++rank) {
    const std::uint64_t blocks = (events + kCallsInBlock - 1) / kCallsInBlock;
    const auto recorder =
        Recorder::create(folder / fmt::format("{}.sennit-profile", rank), sizeof(Tables) + blocks * sizeof(Block))
            .value();
    name(*recorder, rank, ranks);
    std::mt19937 random(static_cast<unsigned>(rank));
    constexpr std::array<const char*, 6> kFunctions{"MPI_Irecv", "MPI_Irecv",   "MPI_Isend",
                                                    "MPI_Isend", "MPI_Waitall", "MPI_Allreduce"};
    std::array<std::uint16_t, 6> functions{};
    for (std::size_t i = 0; i < functions.size(); ++i) functions[i] = recorder->function(kFunctions[i]);
    const std::uint64_t origin = recorder->now();
    std::uint64_t now = origin;
    recorder->begin_run(now);
    for (std::uint64_t i = 0; i < events; ++i) {
      const std::size_t which = i % functions.size();
      Call call{};
      call.function = functions[which];
      call.begin = now + random() % 1000;
      call.end = call.begin + 200 + random() % 1000;
      call.peer = which < 4 ? (rank + (which % 2 == 0 ? 1 : ranks - 1)) % ranks : -1;
      call.tag = which < 2 ? static_cast<int>(1 - which) : static_cast<int>(which - 2);
      call.sequence = which == 5 ? static_cast<std::uint32_t>(i / functions.size() + 1) : 0;
      call.bytes_in = which > 1 && which != 4 ? 65536 : 0;
      call.bytes_out = which < 2 || which == 5 ? 65536 : 0;
      call.memory_in = call.bytes_in != 0 ? Memory::host : Memory::absent;
      call.memory_out = call.bytes_out != 0 ? Memory::host : Memory::absent;
      recorder->record(call);
      if (which == 2 || which == 3) recorder->count_message(call.peer, true, call.bytes_in);
      now = origin + (i + 1) * 3000;
    }
    recorder->end_run(now, End::finalized);
  }
}

/// Kills so many processes at random times, and counts those whose files have all calls that had ended.
Json kill_processes(const std::filesystem::path& folder, int times) {
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& ended = *new (shared) std::atomic<std::uint64_t>(0);
  std::mt19937 random(1);
  int whole = 0;
  std::uint64_t calls = 0;
  for (int i = 0; i < times; ++i) {
    ended = 0;
    const auto file = folder / fmt::format("killed-{}.sennit-profile", i);
    const pid_t child = fork();
    if (child == 0) {
      const auto recorder = Recorder::create(file, std::uint64_t{48} << 20, Clock::best()).value();
      name(*recorder, 0, 1);
      const std::uint16_t function = recorder->function("MPI_Barrier");
      for (std::uint64_t number = 1;; ++number) {
        Call call{};
        call.function = function;
        call.begin = recorder->now();
        call.end = recorder->now();
        recorder->record(call);
        ended.store(number, std::memory_order_release);
      }
    }
    while (ended == 0) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 100'000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto rank = read_rank(file);
    if (rank.ok() && !rank->sums.empty() && rank->sums[0].calls >= ended &&
        rank->calls.size() + rank->calls_lost >= ended)
      ++whole;
    calls += ended;
    std::filesystem::remove(file);
  }
  return {{"killed", times}, {"whole", whole}, {"calls", calls}};
}

Json record_at_rate(int seconds, int threads) {
  constexpr int kPerMs = 1000;
  const auto recorder = Recorder::in_memory(Recorder::kFileBytes, Clock::best()).value();
  name(*recorder, 0, 1);
  const std::uint16_t function = recorder->function("MPI_Send");
  std::atomic<std::uint64_t> late_ms{0};
  const auto make_calls = [&](int thread) {
    const auto begin = std::chrono::steady_clock::now();
    for (int ms = 0; ms < seconds * 1000; ++ms) {
      for (int i = 0; i < kPerMs; ++i) {
        Call call{};
        call.function = function;
        call.begin = recorder->now();
        call.bytes_in = static_cast<std::uint64_t>(thread + 1);
        call.memory_in = Memory::host;
        call.end = recorder->now();
        recorder->record(call);
      }
      const auto due = begin + std::chrono::milliseconds(ms + 1);
      if (std::chrono::steady_clock::now() > due)
        late_ms.fetch_add(1, std::memory_order_relaxed);
      else
        std::this_thread::sleep_until(due);
    }
  };
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> running;
    for (int thread = 0; thread < threads; ++thread) running.emplace_back(make_calls, thread);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::uint64_t calls = 0, bytes = 0, expected = 0;
  const Rank rank = read_rank(recorder->bytes(), "load").value();
  for (const Sums& sums : rank.sums) {
    calls += sums.calls;
    bytes += sums.bytes_in;
  }
  const auto each = static_cast<std::uint64_t>(seconds) * 1000 * kPerMs;
  for (int thread = 0; thread < threads; ++thread) expected += each * static_cast<std::uint64_t>(thread + 1);
  return {{"threads", threads},
          {"seconds", took.count()},
          {"calls", calls},
          {"expected_calls", each * static_cast<std::uint64_t>(threads)},
          {"bytes", bytes},
          {"expected_bytes", expected},
          {"late_ms", late_ms.load()},
          {"calls_kept", rank.calls.size()},
          {"calls_lost", rank.calls_lost}};
}

int main_of(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t i) { return std::atoi(arguments.at(i).c_str()); };
  if (arguments.size() == 4 && arguments[0] == "files") {
    write_files(arguments[1], number(2), static_cast<std::uint64_t>(number(3)));
    return 0;
  }
  Json said;
  if (arguments.size() == 3 && arguments[0] == "kills") said = kill_processes(arguments[1], number(2));
  if (arguments.size() == 3 && arguments[0] == "rate") said = record_at_rate(number(1), number(2));
  if (said.is_null()) return 2;
  fmt::print("{}\n", said.dump());
  return 0;
}

}  // namespace
}  // namespace sennit::profile

int main(int argc, char** argv) {
  return sennit::profile::main_of({argv + 1, argv + argc});
}
