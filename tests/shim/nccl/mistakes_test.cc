#include "shim/nccl/mistakes.h"

#include <array>

#include <gtest/gtest.h>

namespace sennit::shim::nccl {
namespace {

TEST(Mistakes, AreOtherCallsInTheSamePlace) {
  const std::array<comm::Operation, 3> bytes{
      {{"allreduce", 7, -1, 4000}, {"allreduce", 7, -1, 4000}, {"allreduce", 7, -1, 6000}}};
  EXPECT_EQ(
      mistake_among(bytes, 0),
      "rank 0 of 3 calls allreduce of 4000 bytes of NCCL, and rank 2 at the same place allreduce of 6000 bytes: "
      "they wait for each other until the program ends that");
  const std::array<comm::Operation, 2> operations{{{"allreduce", 7, -1, 4000}, {"reduce", 7, -1, 4000}}};
  EXPECT_NE(mistake_among(operations, 1), std::nullopt);
}

TEST(Mistakes, AreNotRanksThatMayStillCome) {
  const std::array<comm::Operation, 3> apart{
      {{"allreduce", 7, -1, 4000}, {"reduce", 6, -1, 8}, {"reduce", 8, -1, 8}}};
  EXPECT_EQ(mistake_among(apart, 0), std::nullopt);
  const std::array<comm::Operation, 2> first{{{"allreduce", 1, -1, 4000}, {}}};
  EXPECT_EQ(mistake_among(first, 0), std::nullopt);
  EXPECT_EQ(mistake_among(first, 1), std::nullopt);
  // Notes of waits count otherwise.
  const std::array<comm::Operation, 2> waits{{{"allreduce", 7, -1, 4000}, {"window", 7, 0, 8}}};
  EXPECT_EQ(mistake_among(waits, 0), std::nullopt);
  EXPECT_EQ(mistake_among(waits, 1), std::nullopt);
}

TEST(Mistakes, AreCallsThatARankHasEndedBefore) {
  const std::array<comm::Operation, 3> latest{
      {{"allreduce", 7, -1, 4000}, {"reduce", 6, -1, 8}, {"allreduce", 7, -1, 4000}}};
  EXPECT_EQ(ended_before(latest, {false, true, true}, 0), 1);
  EXPECT_EQ(ended_before(latest, {false, false, true}, 0), std::nullopt) << "it has done this call";
  EXPECT_EQ(ended_before(latest, {true, true, true}, 1), std::nullopt) << "all have done what it waits for";
  const std::array<comm::Operation, 2> waits{{{"allreduce", 7, -1, 4000}, {"window", 3, 0, 8}}};
  EXPECT_EQ(ended_before(waits, {false, true}, 0), std::nullopt) << "a note of a wait counts otherwise";
}

}  // namespace
}  // namespace sennit::shim::nccl
