// Files of processes that somebody changed, cut off or never wrote: reading and merging them ends in an error or in a
// profile, never in more. The sanitizers look on.
#include <array>
#include <cstdlib>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "profile/document.h"
#include "profile/made_up.h"

namespace sennit::profile {
namespace {

constexpr std::size_t kBlocks = 4;

std::vector<std::byte> some_process(int rank) {
  const MadeUp made(rank, 2, sizeof(Tables) + kBlocks * sizeof(Block));
  set(made.recorder->header().mpi, "MPICH");
  made.recorder->begin_run(50);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Call call{};
    call.function = made.recorder->function(i % 3 == 0 ? "MPI_Allreduce" : i % 3 == 1 ? "MPI_Isend" : "MPI_Recv");
    call.sequence = i % 3 == 0 ? static_cast<std::uint32_t>(i / 3 + 1) : 0;
    call.peer = i % 9 == 2 ? -2 : 1 - rank;
    call.tag = static_cast<int>(i % 2);
    call.begin = 100 * i;
    call.end = 100 * i + 50;
    call.bytes_in = i;
    made.recorder->record(call);
    made.recorder->count_message(1 - rank, true, i);
  }
  made.recorder->end_run(300000, End::finalized);
  return {made.recorder->bytes().begin(), made.recorder->bytes().end()};
}

/// Under sanitizers each takes several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kMany = 100'000;
#else
constexpr int kMany = 1'000'000;
#endif

TEST(ProfileFuzz, WhateverWasChanged) {
  auto content = some_process(0);
  const auto other = some_process(1);
  std::mt19937_64 random(1);
  const bool all = std::getenv("SENNIT_TEST_ALL") != nullptr;
  const int times = all ? kMany : 3'000;
  const int merged_each = all ? 1000 : 50;  // which takes longer
  const std::size_t blocks = content.size() - kBlocks * sizeof(Block);
  for (int i = 0; i < times; ++i) {
    std::array<std::pair<std::size_t, std::byte>, 4> before;
    for (std::size_t j = 0; j < before.size(); ++j) {
      const std::size_t at = j == 0   ? random() % sizeof(Header)
                             : j == 1 ? sizeof(Header) + random() % (blocks - sizeof(Header))
                                      : blocks + random() % (2 * sizeof(Block));
      before[j] = {at, content[at]};
      // The header is left alone in half of the turns: what is behind it would not be looked at.
      if (j != 0 || i % 2 == 0) content[at] = static_cast<std::byte>(random());
    }
    const auto rank = read_rank(content, "changed");
    if (rank.ok()) {
      EXPECT_LE(rank->calls.size(), kBlocks * kCallsInBlock);
    }
    if (i % merged_each == 1) {
      const auto merged = merge(2, [&](std::size_t file) { return read_rank(file == 0 ? content : other, "one"); });
      if (merged.ok()) {
        EXPECT_EQ(to_json(*merged)["kind"], "profile");
      }
    }
    for (auto each = before.rbegin(); each != before.rend(); ++each) content[each->first] = each->second;
  }
}

TEST(ProfileFuzz, WhereverItIsCutOff) {
  const auto content = some_process(0);
  const auto other = some_process(1);
  const auto cut = [&](std::size_t bytes) { return read_rank(std::span(content).first(bytes), "cut"); };
  for (std::size_t bytes = 0; bytes < content.size(); bytes += bytes < 2 * sizeof(Header) ? 1 : 9973)
    ASSERT_EQ(cut(bytes).status().code(), Code::corrupt) << bytes;
  for (const std::size_t bytes : {std::size_t{0}, sizeof(Header), sizeof(Tables), content.size() - 1}) {
    const auto merged =
        merge(2, [&](std::size_t file) { return file == 0 ? cut(bytes) : read_rank(other, "whole"); });
    ASSERT_TRUE(merged.ok()) << bytes;
    ASSERT_EQ(merged->left_out.size(), 1u) << bytes;
    EXPECT_EQ(merged->left_out[0].origin, "cut");
    EXPECT_EQ(merged->missing, std::vector<int>{0});
  }
}

}  // namespace
}  // namespace sennit::profile
