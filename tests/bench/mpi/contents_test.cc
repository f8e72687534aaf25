#include "bench/mpi/contents.h"

#include <cstring>

#include <gtest/gtest.h>

#include "made_up_job.h"

namespace sennit::bench::mpi {
namespace {

using enum Operation;

TEST(MpiContents, MessagesDifferFromEachOther) {
  const Layout layout{{bandwidth, Buffers::host, 64, 3}, 0, 2};
  EXPECT_NE(given(layout, kSum, 0), given(layout, kSum, 1));
  const Layout there{{bandwidth, Buffers::host, 64, 3}, 1, 2};
  for (unsigned index = 0; index < 3; ++index) EXPECT_EQ(expected(there, kSum, index), given(layout, kSum, index));
}

/// More ranks than one step of a reduction takes.
TEST(MpiContents, SumsAreOfAllRanks) {
  for (const int ranks : {2, 8, 21}) {
    std::vector<float> right(16);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto one = given({{allreduce, Buffers::host, 64}, rank, ranks}, kSum, 0);
      for (std::size_t i = 0; i < right.size(); ++i) {
        float number = 0;
        std::memcpy(&number, &one[4 * i], 4);
        right[i] += number;
      }
    }
    const auto got = expected({{allreduce, Buffers::host, 64}, 1, ranks}, kSum, 0);
    EXPECT_EQ(std::memcmp(got.data(), right.data(), 64), 0) << ranks;
  }
}

TEST(MpiContents, AnAccumulateAddsWhatRank0GivesToWhatRank1Has) {
  const Layout origin{{accumulate, Buffers::host, 64}, 0, 3}, target{{accumulate, Buffers::host, 64}, 1, 3};
  const auto added = given(origin, kSum, 0), had = before(target, kSum), right = expected(target, kSum, 0);
  EXPECT_NE(added, had);
  for (std::size_t i = 0; i < 16; ++i) {
    float one = 0, other = 0, sum = 0;
    std::memcpy(&one, &added[4 * i], 4);
    std::memcpy(&other, &had[4 * i], 4);
    std::memcpy(&sum, &right[4 * i], 4);
    EXPECT_EQ(sum, one + other);
  }
  EXPECT_EQ(expected({{get_accumulate, Buffers::host, 64}, 0, 3}, kSum, 0), had) << "who calls gets what was there";
}

TEST(MpiContents, EveryRankGetsAnotherPartOfAReduceScatter) {
  const auto part = [](int rank) { return expected({{reduce_scatter_block, Buffers::host, 64}, rank, 3}, kSum, 0); };
  EXPECT_NE(part(0), part(1));
}

TEST(MpiContents, AScanOfTheLastRankIsASumOfAll) {
  const auto of = [](Operation operation, int rank) {
    return expected({{operation, Buffers::host, 64}, rank, 3}, kSum, 0);
  };
  EXPECT_EQ(of(scan, 2), of(allreduce, 2));
  EXPECT_EQ(of(exscan, 2), of(scan, 1));
  EXPECT_EQ(of(scan, 0), given({{scan, Buffers::host, 64}, 0, 3}, kSum, 0));
}

TEST(MpiContents, AWrongByteIsFoundWhereverItIs) {
  const auto right = given({{latency, Buffers::host, 100}, 0, 2}, kSum, 0);
  std::vector<std::byte> got;
  for (int again = 0; again < 3; ++again) got.insert(got.end(), right.begin(), right.end());
  got.resize(250);
  EXPECT_FALSE(first_wrong(got, right));
  for (const std::size_t at : {0u, 99u, 100u, 249u}) {
    auto spoilt = got;
    spoilt[at] ^= std::byte{1};
    EXPECT_EQ(first_wrong(spoilt, right), at);
  }
}

}  // namespace
}  // namespace sennit::bench::mpi
