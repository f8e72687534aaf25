#include "comm/division.h"

#include <vector>

#include <gtest/gtest.h>

#include "thread_exchange.h"

namespace sennit::comm {
namespace {

std::vector<Seat> seats(const std::vector<SplitRequest>& requests) {
  std::vector<Seat> all;
  for (int rank = 0; rank < static_cast<int>(requests.size()); ++rank) {
    auto seat = seat_of(requests, rank);
    EXPECT_TRUE(seat.ok());
    all.push_back(seat.ok() ? *seat : Seat{-1, -1, -1});
  }
  return all;
}

void expect(const Seat& seat, int rank, int size, int first) {
  EXPECT_EQ(seat.rank, rank);
  EXPECT_EQ(seat.size, size);
  EXPECT_EQ(seat.first, first);
}

TEST(Division, PutsRanksOfAColorTogetherInTheOrderOfTheGroup) {
  const auto all = seats({{0, 0, 0}, {7, 0, 0}, {0, 0, 0}, {7, 0, 0}, {7, 0, 0}});
  expect(all[0], 0, 2, 0);
  expect(all[2], 1, 2, 0);
  expect(all[1], 0, 3, 1);
  expect(all[3], 1, 3, 1);
  expect(all[4], 2, 3, 1);
}

TEST(Division, FollowsTheKeysAndThenTheRanks) {
  const auto all = seats({{0, 5, 0}, {0, -1, 0}, {0, 5, 0}, {0, 2, 0}});
  expect(all[1], 0, 4, 1);
  expect(all[3], 1, 4, 1);
  expect(all[0], 2, 4, 1);
  expect(all[2], 3, 4, 1);
}

TEST(Division, LeavesOutWhoGivesNoColor) {
  const auto all = seats({{-1, 0, 0}, {3, 0, 0}, {-5, 0, 0}});
  expect(all[0], 0, 0, 0);
  expect(all[1], 0, 1, 1);
  expect(all[2], 0, 0, 0);
}

TEST(Division, WishesTravel) {
  const auto read = read_split_request(write({-7, -2147483647, 12}));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->color, -7);
  EXPECT_EQ(read->key, -2147483647);
  EXPECT_EQ(read->node, 12);
  EXPECT_FALSE(read_split_request({}).ok());
}

TEST(Division, TellsThePartsWhereToMeet) {
  Table table(5);
  std::vector<Part> parts(5);
  const std::vector<SplitRequest> requests = {{4, 1, 0}, {4, 0, 0}, {-1, 0, 0}, {0, 0, 0}, {4, 2, 0}};
  on_ranks(5, [&](int rank) {
    ThreadExchange exchange(table, rank);
    auto part = divide(exchange, requests[std::size_t(rank)]);
    ASSERT_TRUE(part.ok()) << part.status().text();
    parts[std::size_t(rank)] = std::move(*part);
  });
  for (const std::size_t rank : {0, 1, 4}) {
    EXPECT_EQ(parts[rank].place.size, 3);
    EXPECT_EQ(parts[rank].place.rendezvous, parts[1].place.rendezvous);
    EXPECT_EQ(parts[rank].place.secret, parts[1].place.secret);
    EXPECT_EQ(parts[rank].listener.valid(), rank == 1);
  }
  EXPECT_FALSE(parts[1].place.secret.empty());
  EXPECT_EQ(parts[2].place.size, 0);
  EXPECT_EQ(parts[3].place.size, 1);
  EXPECT_FALSE(parts[3].listener.valid());
}

TEST(Division, AcrossNodesIsRefusedOnEveryRank) {
  const std::vector<SplitRequest> requests = {{0, 0, 0}, {1, 0, 0}, {1, 0, 2}};
  for (int rank = 0; rank < 3; ++rank) {
    const auto seat = seat_of(requests, rank);
    ASSERT_FALSE(seat.ok());
    EXPECT_EQ(seat.status().code(), Code::unsupported);
    EXPECT_NE(seat.status().what().find("ranks 1 and 2 give color 1"), std::string::npos) << seat.status().what();
  }
  EXPECT_TRUE(seat_of(std::vector<SplitRequest>{{0, 0, 0}, {1, 0, 1}}, 1).ok());
}

}  // namespace
}  // namespace sennit::comm
