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

TEST(Mistakes, AreCallsOfWhichEachLibraryHasSome) {
  const std::array<comm::Operation, 3> latest{
      {{"allreduce", 5, -1, 4000}, {"allreduce", 5, -1, 4000}, {"reduce", 4}}};
  const auto mistake = [&](const std::array<Shares, 3>& shares, int own) {
    return mistake_between(latest, shares, own);
  };
  EXPECT_EQ(
      mistake({{{5, 7}, {5, 7}, {4, 8}}}, 0),
      "rank 0 of 3 calls allreduce of 4000 bytes of NCCL, which sennit does, and rank 2 at the same place another "
      "one, which NCCL does: they wait for each other until the program ends that");
  EXPECT_EQ(mistake({{{5, 7}, {5, 7}, {4, 8}}}, 2), std::nullopt) << "it waits in NCCL; the others tell of it";
  EXPECT_EQ(mistake({{{5, 7}, {5, 7}, {3, 7}}}, 0), std::nullopt) << "it may still come";
  EXPECT_EQ(mistake({{{5, 7}, {5, 7}, {9, 8}}}, 0), std::nullopt) << "it is ahead";
  EXPECT_EQ(mistake({{{5, 7}, {5, 7}, {3, 2}}}, 0), std::nullopt) << "it is behind";
}

TEST(Mistakes, AreNoneWhereCountsBeginAgain) {
  const std::array<comm::Operation, 2> latest{{{"allreduce", 5, -1, 4000}, {"allreduce", 4, -1, 4000}}};
  std::uint64_t ours = 0xffffffff, theirs = ours;
  const auto mistake = [&](int own) {
    return mistake_between(latest, std::array{Shares::of(ours), Shares::of(theirs)}, own);
  };
  ours += Shares::kSennits;  // which counts as a call of NCCL's, too
  EXPECT_EQ(mistake(0), std::nullopt);
  EXPECT_EQ(mistake(1), std::nullopt);
  ours += Shares::kSennits;
  theirs += Shares::kNccls;
  EXPECT_EQ(mistake(0), std::nullopt);
  theirs += Shares::kNccls;
  EXPECT_NE(mistake(0), std::nullopt);
}

}  // namespace
}  // namespace sennit::shim::nccl
