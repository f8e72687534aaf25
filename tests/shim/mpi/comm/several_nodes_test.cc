#include "shim/mpi/comm/several_nodes.h"

#include <array>

#include <gtest/gtest.h>

#include "../made_up_mpi.h"

namespace sennit::shim::mpi {
namespace {

constexpr std::uint64_t operator""_KiB(unsigned long long count) {
  return count << 10;
}

/// So many nodes of so many ranks.
Nodes divided(int nodes, int ranks) {
  std::vector<int> all, leaders;
  for (int rank = 0; rank < nodes * ranks; ++rank) {
    all.push_back(rank);
    leaders.push_back(rank / ranks * ranks);
  }
  return nodes_of(all, leaders, 0);
}

class WhyNotByRails : public testing::Test {
 protected:
  /// `bytes`: as the program's call says.
  Work work(coll::Operation operation, std::uint64_t bytes) {
    Work made;
    if (operation == coll::Operation::all_to_all) made.family = Family::Alltoall;
    made.request.operation = operation;
    made.request.input = memory_.data();
    made.request.output = memory_.data() + 1;
    made.request.reduction.type = coll::reduces(operation) ? device::Type::float32 : device::Type::uint8;
    made.bytes = bytes;
    return made;
  }
  bool taken(const Work& work, const Nodes& nodes, net::Way way = net::Way::rails) {
    return SeveralNodes::why_not(mpi_, work, nodes, way).empty();
  }

  MadeUpMpi mpi_;
  std::array<std::byte, 2> memory_{};
};

TEST_F(WhyNotByRails, SmallMessages) {
  using enum coll::Operation;
  for (const auto& [operation, bytes] : {std::pair(allreduce, 512_KiB),
                                         {broadcast, 512_KiB},
                                         {allgather, 128_KiB},
                                         {gather, 128_KiB},
                                         {scatter, 128_KiB},
                                         {reduce_scatter, 128_KiB},
                                         {all_to_all, 128_KiB}}) {
    EXPECT_TRUE(taken(work(operation, bytes), divided(2, 2))) << coll::name(operation);
    EXPECT_FALSE(taken(work(operation, bytes - 4), divided(2, 2))) << coll::name(operation);
  }
  EXPECT_FALSE(taken(work(allreduce, 4096_KiB - 4), divided(2, 1))) << "nothing is saved where ranks are alone";
  EXPECT_TRUE(taken(work(allreduce, 4096_KiB), divided(2, 1)));
}

TEST_F(WhyNotByRails, AnAllToAllWithLittleForEachOfManyNodes) {
  const Nodes nodes = divided(16, 4);
  EXPECT_TRUE(taken(work(coll::Operation::all_to_all, 32_KiB), nodes));
  EXPECT_FALSE(taken(work(coll::Operation::all_to_all, 32_KiB - 1), nodes));
  EXPECT_TRUE(taken(work(coll::Operation::allgather, 32_KiB - 1), nodes));
}

TEST_F(WhyNotByRails, AnAllToAllOfDifferentLengthsWithLittleForEachOfManyNodes) {
  Work made = work(coll::Operation::all_to_all_v, 512_KiB);
  made.family = Family::Alltoallv;
  EXPECT_TRUE(taken(made, divided(2, 2)));
  EXPECT_FALSE(taken(made, divided(5, 2)));
}

TEST_F(WhyNotByRails, AGatherOrScatterOfWhichThisRankKnowsAShortMessage) {
  for (const Family family : {Family::Gatherv, Family::Scatterv}) {
    Work made = work(coll::Operation::all_to_all_v, 0);
    made.family = family;
    made.request.root = 2;
    const bool gathers = family == Family::Gatherv;
    auto &one = gathers ? made.sent : made.received, &all = gathers ? made.received : made.sent;
    // Elsewhere than at the root.
    one = {0, 0, 128_KiB, 0};
    all = {0, 0, 0, 0};
    EXPECT_TRUE(taken(made, divided(2, 2)));
    EXPECT_FALSE(taken(made, divided(2, 2), net::Way::leaders));
    EXPECT_FALSE(taken(made, divided(4, 1))) << "1 MiB of each";
    one[2] = 0;
    EXPECT_TRUE(taken(made, divided(2, 2))) << "others may have long ones";
    one[2] = 128_KiB - 1;
    EXPECT_FALSE(taken(made, divided(2, 2)));
    // At the root.
    one = {0, 0, 256_KiB, 0};
    all = {128_KiB, 0, 256_KiB, 8192_KiB};
    EXPECT_TRUE(taken(made, divided(2, 2))) << "how much they differ is told when all are there";
    all[0] = 128_KiB - 1;
    EXPECT_FALSE(taken(made, divided(2, 2)));
  }
}

TEST_F(WhyNotByRails, AReduceScatterOfVeryDifferentParts) {
  Work made = work(coll::Operation::allreduce, 1024_KiB);
  made.family = Family::Reduce_scatter;
  made.scratch_bytes = 1024_KiB;
  made.parts = {256_KiB, 256_KiB, 0, 512_KiB};
  EXPECT_TRUE(taken(made, divided(2, 2)));
  EXPECT_FALSE(taken(made, divided(2, 2), net::Way::leaders));
  made.parts = {256_KiB, 128_KiB, 0, 640_KiB};
  EXPECT_FALSE(taken(made, divided(2, 2)));
  made.parts = {128_KiB, 128_KiB, 128_KiB, 127_KiB};
  made.bytes = made.scratch_bytes = 511_KiB;
  EXPECT_FALSE(taken(made, divided(2, 2))) << "small";
}

TEST_F(WhyNotByRails, AnAllgatherOfVeryDifferentLengths) {
  Work made = work(coll::Operation::all_to_all_v, 1024_KiB);
  made.family = Family::Allgatherv;
  made.received = {256_KiB, 256_KiB, 0, 512_KiB};
  EXPECT_TRUE(taken(made, divided(2, 2)));
  made.received = {256_KiB, 128_KiB, 0, 640_KiB};
  EXPECT_FALSE(taken(made, divided(2, 2)));
}

TEST_F(WhyNotByRails, AnAllToAllInPlace) {
  Work made = work(coll::Operation::all_to_all, 4096_KiB);
  made.request.output = memory_.data();
  EXPECT_FALSE(taken(made, divided(2, 2)));
}

TEST_F(WhyNotByRails, WhatNodesThatDifferCannotDivide) {
  EXPECT_TRUE(taken(work(coll::Operation::allreduce, 4096_KiB), divided(2, 2), net::Way::leaders));
  EXPECT_TRUE(taken(work(coll::Operation::broadcast, 4096_KiB), divided(2, 2), net::Way::leaders));
  const std::vector<int> ranks{0, 1, 2}, leaders{0, 0, 2};
  const Nodes differ = nodes_of(ranks, leaders, 0);
  for (const auto operation : {coll::Operation::allgather, coll::Operation::all_to_all}) {
    EXPECT_FALSE(taken(work(operation, 4096_KiB), divided(2, 2), net::Way::leaders));
    EXPECT_TRUE(taken(work(operation, 4096_KiB), divided(2, 2), net::Way::adapters));
    EXPECT_FALSE(taken(work(operation, 4096_KiB), differ, net::Way::adapters));
  }
  EXPECT_TRUE(taken(work(coll::Operation::broadcast, 4096_KiB), differ, net::Way::adapters));
  EXPECT_TRUE(taken(work(coll::Operation::allreduce, 4096_KiB), differ, net::Way::adapters));
}

TEST_F(WhyNotByRails, Scans) {
  Work made = work(coll::Operation::allgather, 4096_KiB);
  made.scan = Work::Scan{};
  EXPECT_FALSE(taken(made, divided(2, 2)));
}

}  // namespace
}  // namespace sennit::shim::mpi
