#include "shim/nccl/call_mismatch.h"

#include <array>

#include <gtest/gtest.h>

namespace sennit::shim::nccl {
namespace {

TEST(CallMismatch, IsAnotherCallInTheSamePlace) {
  const std::array<comm::Operation, 3> bytes{
      {{"allreduce", 7, -1, 4000}, {"allreduce", 7, -1, 4000}, {"allreduce", 7, -1, 6000}}};
  EXPECT_EQ(
      mismatch_among(bytes, 0),
      "rank 0 of 3 calls allreduce of 4000 bytes of NCCL, and rank 2 at the same place allreduce of 6000 bytes: "
      "they wait for each other until the program ends that");
  const std::array<comm::Operation, 2> operations{{{"allreduce", 7, -1, 4000}, {"reduce", 7, -1, 4000}}};
  EXPECT_NE(mismatch_among(operations, 1), std::nullopt);
}

TEST(CallMismatch, IsNoRankThatMayStillCome) {
  const std::array<comm::Operation, 3> apart{
      {{"allreduce", 7, -1, 4000}, {"reduce", 6, -1, 8}, {"reduce", 8, -1, 8}}};
  EXPECT_EQ(mismatch_among(apart, 0), std::nullopt);
  const std::array<comm::Operation, 2> first{{{"allreduce", 1, -1, 4000}, {}}};
  EXPECT_EQ(mismatch_among(first, 0), std::nullopt);
  EXPECT_EQ(mismatch_among(first, 1), std::nullopt);
  // Notes of waits count otherwise.
  const std::array<comm::Operation, 2> waits{{{"allreduce", 7, -1, 4000}, {"window", 7, 0, 8}}};
  EXPECT_EQ(mismatch_among(waits, 0), std::nullopt);
  EXPECT_EQ(mismatch_among(waits, 1), std::nullopt);
}

TEST(CallMismatch, IsACallThatARankHasEndedBefore) {
  const std::array<comm::Operation, 3> latest{
      {{"allreduce", 7, -1, 4000}, {"reduce", 6, -1, 8}, {"allreduce", 7, -1, 4000}}};
  EXPECT_EQ(ended_before(latest, {false, true, true}, 0), 1);
  EXPECT_EQ(ended_before(latest, {false, false, true}, 0), std::nullopt) << "it has done this call";
  EXPECT_EQ(ended_before(latest, {true, true, true}, 1), std::nullopt) << "all have done what it waits for";
  const std::array<comm::Operation, 2> waits{{{"allreduce", 7, -1, 4000}, {"window", 3, 0, 8}}};
  EXPECT_EQ(ended_before(waits, {false, true}, 0), std::nullopt) << "a note of a wait counts otherwise";
}

TEST(CallMismatch, IsACallThatEachLibraryHasOnOneRank) {
  const std::array<comm::Operation, 3> latest{
      {{"allreduce", 5, -1, 4000}, {"allreduce", 5, -1, 4000}, {"reduce", 4}}};
  const auto mismatch = [&](const std::array<CallCounts, 3>& counts, int own) {
    return mismatch_between_libraries(latest, counts, own);
  };
  EXPECT_EQ(
      mismatch({{{5, 7}, {5, 7}, {4, 8}}}, 0),
      "rank 0 of 3 calls allreduce of 4000 bytes of NCCL, which sennit does, and rank 2 at the same place another "
      "one, which NCCL does: they wait for each other until the program ends that");
  EXPECT_EQ(mismatch({{{5, 7}, {5, 7}, {4, 8}}}, 2), std::nullopt) << "it waits in NCCL; the others tell of it";
  EXPECT_EQ(mismatch({{{5, 7}, {5, 7}, {3, 7}}}, 0), std::nullopt) << "it may still come";
  EXPECT_EQ(mismatch({{{5, 7}, {5, 7}, {9, 8}}}, 0), std::nullopt) << "it is ahead";
  EXPECT_EQ(mismatch({{{5, 7}, {5, 7}, {3, 2}}}, 0), std::nullopt) << "it is behind";
}

TEST(CallMismatch, IsNoneWhereCountsBeginAgain) {
  const std::array<comm::Operation, 2> latest{{{"allreduce", 5, -1, 4000}, {"allreduce", 4, -1, 4000}}};
  std::uint64_t ours = 0xffffffff, theirs = ours;
  const auto mismatch = [&](int own) {
    return mismatch_between_libraries(latest, std::array{CallCounts::of(ours), CallCounts::of(theirs)}, own);
  };
  ours += CallCounts::kSennits;  // which counts as a call of NCCL's, too
  EXPECT_EQ(mismatch(0), std::nullopt);
  EXPECT_EQ(mismatch(1), std::nullopt);
  ours += CallCounts::kSennits;
  theirs += CallCounts::kNccls;
  EXPECT_EQ(mismatch(0), std::nullopt);
  theirs += CallCounts::kNccls;
  EXPECT_NE(mismatch(0), std::nullopt);
}

}  // namespace
}  // namespace sennit::shim::nccl
