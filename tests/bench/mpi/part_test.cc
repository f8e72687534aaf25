#include "bench/mpi/part.h"

#include <gtest/gtest.h>

#include "place/pattern.h"

namespace sennit::bench::mpi {
namespace {

Pattern of(const char* name, double bytes, unsigned element_bytes = 4) {
  return {name, place::parse_pattern(name, bytes).value(), element_bytes};
}

TEST(MpiPart, ARankSendsToTheNeighboursOfThePartItPlays) {
  // Ranks 0 … 3 in a row; the job's rank 3 plays rank 1, between those of ranks 0 and 2.
  const Pattern line = of("2d-stencil:4x1", 100);
  const std::vector<int> map = {2, 3, 0, 1};
  const Part middle = part_of(line, map, 3), end = part_of(line, map, 2);
  ASSERT_EQ(middle.sent.size(), 2u);
  EXPECT_EQ(middle.sent[0].peer, 2);
  EXPECT_EQ(middle.sent[1].peer, 0);
  EXPECT_EQ(middle.sent[1].piece.at, 100u) << "behind the first";
  EXPECT_EQ(middle.received.size(), 2u);
  ASSERT_EQ(end.sent.size(), 1u);
  EXPECT_EQ(end.sent[0].peer, 3);
}

TEST(MpiPart, WhatIsSentIsWhatIsReceivedInTheSameOrder) {
  for (const char* name : {"2d-torus:2x2,w=3", "4d-hypercube:w=3", "parallel:tp=2,pp=2,dp=2", "all-pairs:5"}) {
    const Pattern pattern = of(name, 1000);
    const int ranks = pattern.traffic.ranks();
    std::vector<int> map;
    for (int rank = 0; rank < ranks; ++rank) map.push_back((rank + 3) % ranks);
    const auto between = [&](int from, int to, bool sent) {
      std::vector<std::pair<unsigned, std::uint64_t>> found;
      const Part part = part_of(pattern, map, sent ? from : to);
      for (const Message& each : sent ? part.sent : part.received)
        if (each.peer == (sent ? to : from)) found.emplace_back(each.number, each.piece.bytes);
      return found;
    };
    std::uint64_t all = 0;
    for (int a = 0; a < ranks; ++a) {
      all += part_of(pattern, map, a).sent_bytes();
      EXPECT_LE(part_of(pattern, map, a).received_bytes(), most_bytes(pattern));
      for (int b = 0; b < ranks; ++b) EXPECT_EQ(between(a, b, true), between(a, b, false)) << name;
    }
    EXPECT_NEAR(double(all), pattern.traffic.bytes(), 32.0 * double(pattern.traffic.talks().size())) << name;
  }
}

TEST(MpiPart, AHeavyMessageIsLongerAndATwofoldNeighbourGetsTwo) {
  const Pattern torus = of("2d-torus:2x2,w=3", 64);
  const std::vector<int> map = {0, 1, 2, 3};
  std::vector<std::uint64_t> bytes;
  for (const Message& each : part_of(torus, map, 0).sent) bytes.push_back(each.piece.bytes);
  EXPECT_EQ(bytes, (std::vector<std::uint64_t>{192, 192, 64, 64}));
  EXPECT_EQ(most_bytes(torus), 512u);
}

TEST(MpiPart, MessagesAreWholeElements) {
  for (const Message& each : part_of(of("ring:3", 10, 8), std::vector<int>{0, 1, 2}, 0).sent)
    EXPECT_EQ(each.piece.bytes, 8u);
  EXPECT_EQ(part_of(of("ring:3", 1, 8), std::vector<int>{0, 1, 2}, 0).sent.front().piece.bytes, 8u) << "at least one";
}

}  // namespace
}  // namespace sennit::bench::mpi
