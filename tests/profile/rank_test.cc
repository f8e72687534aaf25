#include "profile/rank.h"

#include <array>
#include <cstring>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "profile/made_up.h"

namespace sennit::profile {
namespace {

std::vector<std::byte> content_of(const MadeUp& made) {
  return {made.recorder->bytes().begin(), made.recorder->bytes().end()};
}

MadeUp some_calls() {
  MadeUp made(1, 2);
  made.recorder->count_message(0, true, 100);
  made.recorder->begin_run(50);
  for (std::uint64_t i = 0; i < 2000; ++i) made.call("MPI_Allreduce", 100 * i, 100 * i + 50, 8, 1);
  made.recorder->end_run(300000, End::finalized);
  return made;
}

TEST(ReadRank, GivesBackWhatWasWritten) {
  const Rank rank = some_calls().read().value();
  EXPECT_EQ(rank.rank, 1);
  EXPECT_EQ(rank.ranks, 2);
  EXPECT_GT(rank.cores, 0u);
  EXPECT_EQ(rank.run_ns(), 300000u - 50u);
  EXPECT_EQ(rank.end, End::finalized);
  EXPECT_EQ(rank.functions, std::vector<std::string>{"MPI_Allreduce"});
  EXPECT_EQ(rank.messages.at(0).bytes, 100u);
  EXPECT_EQ(rank.calls.size(), 2000u);
}

TEST(ReadRank, SaysWhatTheProcessWasBoundTo) {
  const MadeUp made(0, 1);
  made.recorder->header().numa_nodes = 0b101;
  EXPECT_EQ(made.read().value().numa_nodes, (std::vector<int>{0, 2}));
}

TEST(ReadRank, PausesAreNoPartOfTheRun) {
  const auto paused_of = [](auto&& run) {
    const MadeUp made(0, 1);
    Recorder& recorder = *made.recorder;
    const std::uint64_t begin = recorder.now();
    run(recorder, begin);
    const Rank rank = made.read().value();
    EXPECT_EQ(rank.run_ns() + rank.paused_ns, rank.last_ns > rank.init_ns ? rank.last_ns - rank.init_ns : 0);
    return rank.paused_ns;
  };
  const auto wait = [](const Recorder& recorder, std::uint64_t ns) {
    for (const std::uint64_t begin = recorder.now(); recorder.now() - begin < ns;) continue;
  };
  constexpr std::uint64_t kPause = 100'000;
  EXPECT_GE(paused_of([&](Recorder& recorder, std::uint64_t begin) {
              recorder.begin_run(begin);
              for (int i = 0; i < 2; ++i) {
                recorder.pause(true);
                recorder.pause(true);
                wait(recorder, kPause);
                recorder.pause(false);
              }
              recorder.pause(false);
              recorder.end_run(recorder.now(), End::finalized);
            }),
            2 * kPause);
  EXPECT_GE(paused_of([&](Recorder& recorder, std::uint64_t begin) {
              recorder.pause(true);  // before the run, and to its end
              recorder.begin_run(begin + 1);
              wait(recorder, kPause);
              recorder.end_run(recorder.now(), End::exited);
              wait(recorder, kPause);
              recorder.pause(false);
            }),
            kPause - 1);
  EXPECT_EQ(paused_of([&](Recorder& recorder, std::uint64_t) {
              recorder.pause(true);
              wait(recorder, kPause);
              recorder.pause(false);
              recorder.begin_run(recorder.now());
              recorder.pause(true);  // and is killed
            }),
            0u);
}

TEST(ReadRank, AProcessThatEndsBeforeItsRunHasNoTime) {
  const MadeUp made(0, 1);
  made.recorder->end_run(made.recorder->now(), End::exited);
  EXPECT_EQ(made.read().value().run_ns(), 0u);
}

TEST(ReadRank, TicksBecomeNanoseconds) {
  const MadeUp made(0, 1);
  Header& header = made.recorder->header();
  header.begin = 1000;
  header.begin_ns = 500000;
  header.ns_per_tick = 0.5;
  made.call("MPI_Barrier", 900, 3000);
  const Rank rank = made.read().value();
  EXPECT_EQ(rank.calls.at(0).call.begin, 500000u - 50u);
  EXPECT_EQ(rank.calls.at(0).call.end, 500000u + 1000u);
  EXPECT_EQ(rank.sums.at(0).ns, 1050u);
  EXPECT_EQ(rank.sums.at(0).least_ns, 1050u);
  header.ns_per_tick = 0;
  EXPECT_EQ(made.read().status().code(), Code::corrupt);
}

TEST(ReadRank, RefusesWhatIsCutOff) {
  const auto content = content_of(some_calls());
  for (std::size_t bytes :
       {std::size_t{0}, std::size_t{7}, sizeof(Header), sizeof(Tables) - 1, sizeof(Tables), content.size() - 1}) {
    const Status status = read_rank(std::span(content).first(bytes), "cut").status();
    EXPECT_EQ(status.code(), Code::corrupt) << bytes;
    EXPECT_NE(status.text().find("cut"), std::string::npos);
  }
}

TEST(ReadRank, RefusesOtherVersionsByName) {
  auto content = content_of(some_calls());
  const std::uint32_t version = kVersion + 1;
  std::memcpy(content.data() + offsetof(Header, version), &version, sizeof version);
  const Status status = read_rank(content, "newer").status();
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.text().find("version " + std::to_string(version)), std::string::npos) << status.text();
}

/// Any byte changed: an error or a value, never more. The sanitizers look on.
TEST(ReadRank, BelievesNothing) {
  auto content = content_of(some_calls());
  std::mt19937_64 random(1);
  const std::size_t behind_sums = content.size() - 4 * sizeof(Block);
  for (int i = 0; i < 300; ++i) {
    std::array<std::pair<std::size_t, std::byte>, 4> before;
    for (std::size_t j = 0; j < before.size(); ++j) {
      const std::size_t at = j == 0  ? random() % sizeof(Header)
                             : j < 3 ? random() % content.size()
                                     : behind_sums + random() % (2 * sizeof(Block));
      before[j] = {at, content[at]};
      content[at] = static_cast<std::byte>(random());
    }
    const auto rank = read_rank(content, "changed");
    if (rank.ok()) {
      EXPECT_LE(rank->calls.size(), 4 * kCallsInBlock);
    }
    for (auto each = before.rbegin(); each != before.rend(); ++each) content[each->first] = each->second;
  }
}

}  // namespace
}  // namespace sennit::profile
