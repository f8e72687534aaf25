// Which partitions of one cut have the bytes of which of another: against a reference that goes byte by byte.
#include "path/partition_cut.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace sennit::path {
namespace {

/// The partitions of `by` that have any byte of `range`.
std::set<std::uint32_t> touched(PartitionRange range, const PartitionCut& of, const PartitionCut& by) {
  std::set<std::uint32_t> found;
  for (std::uint64_t byte = range.begin * of.bytes_each; byte < range.end * of.bytes_each; ++byte)
    found.insert(static_cast<std::uint32_t>(byte / by.bytes_each));
  return found;
}

std::set<std::uint32_t> members(PartitionRange range) {
  std::set<std::uint32_t> all;
  for (std::uint32_t i = range.begin; i < range.end; ++i) all.insert(i);
  return all;
}

TEST(PartitionCut, CoversEveryByteAndNoMore) {
  for (const std::uint64_t bytes : {1, 6, 36, 90, 210})
    for (std::uint32_t mine = 1; mine <= bytes; ++mine)
      for (std::uint32_t theirs = 1; theirs <= bytes; ++theirs) {
        if (bytes % mine != 0 || bytes % theirs != 0) continue;
        const PartitionCut of{mine, bytes / mine}, by{theirs, bytes / theirs};
        for (std::uint32_t begin = 0; begin < mine; begin += 1 + mine / 7)
          for (std::uint32_t end = begin + 1; end <= mine; end += 1 + mine / 5) {
            const PartitionRange range{begin, end};
            ASSERT_EQ(members(covering(range, of, by)), touched(range, of, by))
                << begin << " to " << end << " of " << text(of) << " by " << text(by);
          }
      }
}

TEST(PartitionCut, OfEighteenAndFive) {
  const PartitionCut sent{18, 5}, received{5, 18};
  EXPECT_EQ(covering({0, 1}, received, sent), (PartitionRange{0, 4}));
  EXPECT_EQ(covering({1, 2}, received, sent), (PartitionRange{3, 8}));
  EXPECT_EQ(covering({4, 5}, received, sent), (PartitionRange{14, 18}));
  EXPECT_EQ(covering({0, 5}, received, sent), (PartitionRange{0, 18}));
}

TEST(PartitionCut, HasNoOverflowAtTheEnd) {
  constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
  const PartitionCut whole{1, kAll}, thirds{3, kAll / 3};
  EXPECT_EQ(covering({2, 3}, thirds, whole), (PartitionRange{0, 1}));
  EXPECT_EQ(covering({0, 1}, whole, thirds), (PartitionRange{0, 3}));
}

TEST(PartitionCut, WithoutBytesNeedsAllOfTheOther) {
  EXPECT_EQ(covering({1, 2}, {4, 0}, {7, 0}), (PartitionRange{0, 7}));
}

TEST(PartitionCut, IsChecked) {
  EXPECT_TRUE(check(PartitionCut{1, 0}).ok());
  EXPECT_TRUE(check(PartitionCut{3, std::numeric_limits<std::uint64_t>::max() / 3}).ok());
  EXPECT_EQ(check(PartitionCut{0, 8}).code(), Code::invalid_argument);
  EXPECT_EQ(check(PartitionCut{4, std::uint64_t{1} << 62}).code(), Code::invalid_argument);
}

TEST(PartitionRuns, AreTheListInItsOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint32_t> list(random() % 12);
    std::iota(list.begin(), list.end(), random() % 3);
    if (round % 2 == 0) std::shuffle(list.begin(), list.end(), random);
    std::vector<std::uint32_t> spelled;
    const auto runs = runs_of(list);
    for (const PartitionRange& run : runs)
      for (std::uint32_t i = run.begin; i < run.end; ++i) spelled.push_back(i);
    EXPECT_EQ(spelled, list);
    EXPECT_LE(runs.size(), round % 2 == 1 ? 1u : list.size()) << "neighbours travel together";
  }
}

}  // namespace
}  // namespace sennit::path
