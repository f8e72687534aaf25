#include "bench/collective/layout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/collective/numbers.h"

namespace sennit::bench::collective {
namespace {

using coll::Operation;

TEST(CollectiveLayout, SizesAreOfTheLargerBufferInWholeElements) {
  EXPECT_EQ(Layout(Operation::allreduce, 1027, 4, true, 0, 3).bytes(), 1024u);
  EXPECT_EQ(Layout(Operation::allgather, 1027, 4, true, 0, 3).bytes(), 1020u);
  EXPECT_EQ(Layout(Operation::allgather, 1027, 4, true, 0, 3).message, 340u);
  EXPECT_EQ(Layout(Operation::reduce, 1024, 4, true, 0, 3).message, 1024u);
  EXPECT_EQ(Layout(Operation::scatter, 8, 4, true, 0, 3).message, 0u);
}

TEST(CollectiveLayout, InPlaceARanksOwnMessageIsTheSame) {
  const Layout gathered(Operation::allgather, 1200, 4, true, 2, 3);
  EXPECT_EQ(gathered.input_at(), 800u);
  EXPECT_EQ(gathered.output_at(), 0u);
  const Layout scattered(Operation::reduce_scatter, 1200, 4, true, 2, 3);
  EXPECT_EQ(scattered.input_at(), 0u);
  EXPECT_EQ(scattered.output_at(), 800u);
  EXPECT_EQ(Layout(Operation::allgather, 1200, 4, false, 2, 3).input_at(), 0u);
  EXPECT_FALSE(Layout(Operation::all_to_all, 1200, 4, true, 2, 3).in_place) << "NCCL has none";
  EXPECT_FALSE(Layout(Operation::sendrecv, 1200, 4, true, 2, 3).in_place) << "what is sent is still read";
}

TEST(CollectiveLayout, OnlyTheRootGivesOrGetsWhereThereIsOne) {
  EXPECT_EQ(Layout(Operation::broadcast, 64, 4, true, 0, 4).given(), 1u);
  EXPECT_EQ(Layout(Operation::broadcast, 64, 4, true, 1, 4).given(), 0u);
  EXPECT_EQ(Layout(Operation::scatter, 64, 4, true, 0, 4).given(), 4u);
  EXPECT_EQ(Layout(Operation::scatter, 64, 4, true, 3, 4).given(), 0u);
  EXPECT_EQ(Layout(Operation::gather, 64, 4, true, 0, 4).taken(), 4u);
  EXPECT_EQ(Layout(Operation::gather, 64, 4, true, 3, 4).taken(), 0u);
  EXPECT_EQ(Layout(Operation::reduce, 64, 4, true, 3, 4).taken(), 0u);
}

TEST(CollectiveLayout, BusFactorsAreThoseOfNcclTests) {
  const auto factor = [](Operation operation) { return Layout(operation, 64, 4, true, 0, 4).bus_factor(); };
  EXPECT_EQ(factor(Operation::allreduce), 1.5);
  EXPECT_EQ(factor(Operation::allgather), 0.75);
  EXPECT_EQ(factor(Operation::reduce_scatter), 0.75);
  EXPECT_EQ(factor(Operation::all_to_all), 0.75);
  EXPECT_EQ(factor(Operation::broadcast), 1);
  EXPECT_EQ(factor(Operation::sendrecv), 1);
}

TEST(CollectiveLayout, EveryRankSendsToTheNextOne) {
  const Layout first(Operation::sendrecv, 1200, 4, false, 0, 3), last(Operation::sendrecv, 1200, 4, false, 2, 3);
  EXPECT_EQ(first.message, 1200u);
  EXPECT_EQ(first.source(0), 2);
  EXPECT_EQ(last.source(0), 1);
  EXPECT_EQ(first.given() + first.taken(), 2u);
}

TEST(CollectiveNumbers, MessagesDiffer) {
  EXPECT_NE(noise(100, 0), noise(100, 1));
  EXPECT_NE(numbers(device::Type::float32, 400, 0), numbers(device::Type::float32, 400, 1));
  const auto long_one = noise(kPeriod + 10, 5);
  EXPECT_EQ(long_one[kPeriod + 3], long_one[3]);
}

TEST(CollectiveNumbers, NoTwoRanksGiveTheSame) {
  // Where they did, a rank that adds its own input again and again would be right.
  for (const Operation operation : {Operation::allreduce, Operation::reduce_scatter})
    for (const device::Type type : {device::Type::int8, device::Type::float32}) {
      std::vector<std::vector<std::byte>> seen;
      for (int rank = 0; rank < 8; ++rank) {
        auto mine = given(Layout(operation, 4096, device::bytes_of(type), true, rank, 8), type);
        EXPECT_EQ(std::ranges::count(seen, mine), 0) << "rank " << rank;
        seen.push_back(std::move(mine));
      }
    }
}

TEST(CollectiveNumbers, ExpectedIsWhatTheOthersGive) {
  const device::Reduction sum{device::Type::int32, device::Operator::sum, 2};
  const auto give = [](Operation operation, int rank) {
    return given(Layout(operation, 32, 4, false, rank, 2), device::Type::int32);
  };
  // Rank 1 of two gets the second half of what rank 0 gives.
  const Layout mine(Operation::all_to_all, 32, 4, false, 1, 2);
  const auto first = give(Operation::all_to_all, 0);
  EXPECT_EQ(expected(mine, sum, 0), std::vector<std::byte>(first.begin() + 16, first.end()));
  const auto a = give(Operation::reduce_scatter, 0), b = give(Operation::reduce_scatter, 1);
  const auto added = expected(Layout(Operation::reduce_scatter, 32, 4, false, 1, 2), sum, 0);
  for (std::size_t i = 0; i < 16; i += 4) EXPECT_EQ(int(added[i]), int(a[16 + i]) + int(b[16 + i]));
}

}  // namespace
}  // namespace sennit::bench::collective
