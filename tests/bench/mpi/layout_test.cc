#include "bench/mpi/layout.h"

#include <gtest/gtest.h>

namespace sennit::bench::mpi {
namespace {

using enum Operation;

Layout of(Operation operation, int rank, int size, int window = 1, bool in_place = false) {
  return {{operation, Buffers::host, 100, window, in_place}, rank, size};
}

TEST(MpiLayout, MessagesGoBetweenPairs) {
  EXPECT_EQ(of(latency, 0, 4).peer(), 1);
  EXPECT_EQ(of(latency, 1, 4).peer(), 0);
  EXPECT_EQ(of(latency, 2, 4).peer(), Layout::kNobody);
  EXPECT_EQ(of(multi_pair, 1, 5).peer(), 3);
  EXPECT_EQ(of(multi_pair, 3, 5).peer(), 1);
  EXPECT_EQ(of(multi_pair, 4, 5).peer(), Layout::kNobody) << "one of an odd number is left";
}

TEST(MpiLayout, WhoSendsAndReceivesWindows) {
  EXPECT_EQ(of(bandwidth, 0, 2, 64).given(), 64u);
  EXPECT_EQ(of(bandwidth, 0, 2, 64).taken(), 0u);
  EXPECT_EQ(of(bandwidth, 1, 2, 64).given(), 0u);
  EXPECT_EQ(of(bandwidth, 1, 2, 64).taken(), 64u);
  for (const int rank : {0, 1}) {
    EXPECT_EQ(of(bidirectional, rank, 2, 64).given(), 64u);
    EXPECT_EQ(of(bidirectional, rank, 2, 64).taken(), 64u);
    EXPECT_EQ(of(latency, rank, 2).given() + of(latency, rank, 2).taken(), 2u);
  }
  EXPECT_EQ(of(bandwidth, 2, 3, 64).given() + of(bandwidth, 2, 3, 64).taken(), 0u);
}

TEST(MpiLayout, OnlyTheRootGivesOrGetsWhereThereIsOne) {
  EXPECT_EQ(of(bcast, 0, 3).given(), 1u);
  EXPECT_EQ(of(bcast, 0, 3).taken(), 0u) << "it has it";
  EXPECT_EQ(of(bcast, 1, 3).taken(), 1u);
  EXPECT_EQ(of(scatter, 0, 3).given(), 3u);
  EXPECT_EQ(of(scatter, 1, 3).given(), 0u);
  EXPECT_EQ(of(scatter, 1, 3).taken(), 1u);
  EXPECT_EQ(of(gather, 0, 3).taken(), 3u);
  EXPECT_EQ(of(gather, 1, 3).taken(), 0u);
  EXPECT_EQ(of(reduce, 0, 3).taken(), 1u);
  EXPECT_EQ(of(reduce, 2, 3).taken(), 0u);
  EXPECT_EQ(of(scatterv, 1, 3).given(), 0u);
  EXPECT_EQ(of(gatherv, 1, 3).taken(), 0u);
  EXPECT_EQ(of(barrier, 0, 3).given() + of(barrier, 0, 3).taken(), 0u);
}

TEST(MpiLayout, PrefixesAreOfTheRanksBefore) {
  EXPECT_EQ(of(scan, 2, 4).contributors(), 3);
  EXPECT_EQ(of(exscan, 2, 4).contributors(), 2);
  EXPECT_EQ(of(allreduce, 2, 4).contributors(), 4);
  EXPECT_EQ(of(scan, 0, 4).taken(), 1u);
  EXPECT_EQ(of(exscan, 0, 4).taken(), 0u) << "it has nobody before it";
  EXPECT_EQ(of(exscan, 1, 4).taken(), 1u);
}

TEST(MpiLayout, PingPongsHaveTwoMessagesACall) {
  for (const Operation operation : {latency, multi_latency, partitioned}) {
    EXPECT_EQ(of(operation, 1, 2).what.messages(), 2) << name(operation);
    EXPECT_EQ(of(operation, 1, 2).given() + of(operation, 1, 2).taken(), 2u) << name(operation);
  }
  EXPECT_EQ(of(bandwidth, 0, 2, 64).what.messages(), 64);
  EXPECT_EQ(of(allreduce, 0, 2).what.messages(), 1);
}

TEST(MpiLayout, OneSidedCallsAreOfRank0AndReachRank1) {
  for (const Operation operation : {put, accumulate}) {
    EXPECT_EQ(of(operation, 0, 3).given(), 1u) << name(operation);
    EXPECT_EQ(of(operation, 0, 3).taken(), 0u) << name(operation);
    EXPECT_EQ(of(operation, 1, 3).given(), 0u) << name(operation);
    EXPECT_EQ(of(operation, 1, 3).taken(), 1u) << name(operation);
  }
  EXPECT_EQ(of(get, 0, 3).given(), 0u);
  EXPECT_EQ(of(get, 0, 3).taken(), 1u);
  EXPECT_EQ(of(get, 0, 3).source(0), 1);
  EXPECT_EQ(of(get, 1, 3).given(), 1u);
  for (const Operation operation : {put, get, accumulate}) {
    EXPECT_EQ(of(operation, 2, 3).given() + of(operation, 2, 3).taken(), 0u) << name(operation);
    EXPECT_FALSE(of(operation, 0, 3).is_target() || of(operation, 2, 3).is_target()) << name(operation);
    EXPECT_TRUE(of(operation, 1, 3).is_target()) << name(operation);
    EXPECT_TRUE((Layout{{operation, Buffers::gpu_host, 8}, 0, 2}.on_gpu())) << name(operation);
    EXPECT_FALSE((Layout{{operation, Buffers::gpu_host, 8}, 1, 2}.on_gpu())) << name(operation);
  }
  EXPECT_FALSE(of(latency, 1, 2).is_target());
  EXPECT_EQ(of(get_bandwidth, 1, 2, 64).given(), 64u);
  EXPECT_EQ(of(put_bandwidth, 1, 2, 64).taken(), 64u);
  for (const int rank : {0, 1}) {
    const Layout both = of(put_bidirectional, rank, 2, 64);
    EXPECT_TRUE(both.is_caller() && both.is_target());
    EXPECT_EQ(both.given() + both.taken(), 128u);
    EXPECT_EQ(of(get_accumulate, rank, 2).taken(), 1u) << "the one what was there, the other the sum";
  }
  EXPECT_EQ(of(compare_and_swap, 0, 2).number_given(1), of(compare_and_swap, 1, 2).number_given(0))
      << "what is compared is there";
}

TEST(MpiLayout, NeighboursAreThoseOfARing) {
  EXPECT_EQ(of(neighbor_alltoall, 0, 2).taken(), 1u);
  EXPECT_EQ(of(neighbor_alltoall, 0, 2).source(0), 1);
  EXPECT_EQ(of(neighbor_alltoallw, 3, 4).given(), 2u);
  EXPECT_EQ(of(neighbor_allgather, 3, 4).given(), 1u);
  EXPECT_EQ(of(neighbor_allgather, 3, 4).source(0), 2);
  EXPECT_EQ(of(neighbor_allgather, 3, 4).source(1), 0);
  const auto right = of(neighbor_alltoall, 2, 4).number_given(1);
  EXPECT_EQ(of(neighbor_alltoall, 3, 4).number_taken(0, 2), right)
      << "of the left one it is what that gave its right";
}

TEST(MpiLayout, WhatIsGivenIsWhatComes) {
  for (const Operation operation : all_operations()) {
    if (reduces(operation) || operation == barrier) continue;  // numbers come together
    if (operation == compare_and_swap) continue;               // what was there before comes back
    const int ranks = 4, window = has_window(operation) ? 8 : 1;
    for (int to = 0; to < ranks; ++to) {
      const Layout there = of(operation, to, ranks, window);
      for (unsigned index = 0; index < there.taken(); ++index) {
        const int from = there.source(index);
        const Layout here = of(operation, from, ranks, window);
        bool found = false;
        for (unsigned given = 0; given < here.given(); ++given)
          found = found || here.number_given(given) == there.number_taken(index, from);
        EXPECT_TRUE(found) << name(operation) << " from " << from << " to " << to;
      }
    }
  }
}

TEST(MpiLayout, InPlaceARanksOwnMessageIsWhereItIsToStay) {
  EXPECT_EQ(of(allgather, 2, 4, 1, true).input_at(), 200u);
  EXPECT_EQ(of(allgather, 2, 4).input_at(), 0u);
  EXPECT_EQ(of(reduce_scatter_block, 2, 4, 1, true).input_at(), 0u) << "MPI puts the result at the beginning";
  EXPECT_TRUE(of(allreduce, 2, 4, 1, true).one_buffer());
  EXPECT_FALSE(of(allreduce, 2, 4).one_buffer());
  EXPECT_TRUE(of(bcast, 2, 4).one_buffer());
}

TEST(MpiLayout, RoomIsThatOfTheLargerBuffer) {
  EXPECT_EQ(Layout::room({bandwidth, Buffers::gpu, 100, 64}, 4), 6400u);
  EXPECT_EQ(Layout::room({alltoall, Buffers::gpu, 100}, 4), 400u);
  EXPECT_EQ(Layout::room({allreduce, Buffers::gpu, 100}, 4), 100u);
}

TEST(MpiLayout, SidesMayHaveOtherBuffers) {
  const auto on = [](Buffers buffers, int rank) { return Layout{{latency, buffers, 8}, rank, 2}.on_gpu(); };
  EXPECT_TRUE(on(Buffers::gpu, 0) && on(Buffers::gpu, 1));
  EXPECT_TRUE(on(Buffers::gpu_host, 0) && !on(Buffers::gpu_host, 1));
  EXPECT_TRUE(!on(Buffers::host_gpu, 0) && on(Buffers::host_gpu, 1));
  for (const Buffers each : {Buffers::gpu, Buffers::host, Buffers::gpu_host, Buffers::host_gpu, Buffers::managed})
    EXPECT_EQ(*parse_buffers(name(each)), each);
  EXPECT_FALSE(parse_buffers("both"));
}

TEST(MpiLayout, ACaseIsDescribedForPeople) {
  EXPECT_EQ(describe({bandwidth, Buffers::gpu_host, 4096, 64}), "bandwidth of 4 KiB, window 64, gpu_host buffers");
  EXPECT_EQ(describe({allreduce, Buffers::gpu, 8, 1, true}), "allreduce of 8 B, in place, gpu buffers");
  EXPECT_EQ(describe({bcast, Buffers::managed, 8, 1, false, Style::nonblocking}), "ibcast of 8 B, managed buffers");
  EXPECT_EQ(describe({barrier}), "barrier");
}

}  // namespace
}  // namespace sennit::bench::mpi
