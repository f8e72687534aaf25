#include "shim/mpi/call/signature.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../translation.h"

namespace sennit::shim::mpi {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using M = MadeUpMpi;

class Signature : public Translate {
 protected:
  Work allreduce(std::int64_t count, Handle type, Handle op = M::kSum) const {
    Call made = call(Family::Allreduce, -1, op);
    made.add(in(a_, run(count, type)));
    made.add(out(const_cast<float*>(b_), run(count, type)));
    return work(made);
  }
  Work broadcast(std::int64_t count, int root, Handle type = M::kFloat) const {
    Call made = call(Family::Bcast, root);
    made.add(in(a_, run(count, type)));
    return work(made);
  }
};

TEST_F(Signature, WhatMpiAllowsToDifferIsNotInIt) {
  EXPECT_EQ(signature_of(broadcast(8, 0)), signature_of(broadcast(2, 0, M::kFourFloats)));
  EXPECT_EQ(signature_of(allreduce(0, M::kFloat)), signature_of(allreduce(0, M::kDouble)));
  Work elsewhere = allreduce(8, M::kFloat);
  elsewhere.request.input = elsewhere.request.output;
  EXPECT_EQ(signature_of(elsewhere), signature_of(allreduce(8, M::kFloat)));
}

TEST_F(Signature, WhatAllRanksGiveAlikeIs) {
  Work maximum = allreduce(8, M::kFloat);
  maximum.request.reduction.op = device::Operator::max;
  Work scan = allreduce(8, M::kFloat);
  scan.scan = Work::Scan{1, scan.request.reduction};
  Work parts = allreduce(8, M::kFloat), other_parts = parts;
  parts.parts = {1, 2, 3, 2};
  other_parts.parts = {2, 1, 3, 2};
  const std::set<std::uint32_t> all = {signature_of(allreduce(8, M::kFloat)),
                                       signature_of(allreduce(9, M::kFloat)),
                                       signature_of(allreduce(8, M::kDouble)),
                                       signature_of(maximum),
                                       signature_of(scan),
                                       signature_of(parts),
                                       signature_of(other_parts),
                                       signature_of(broadcast(8, 0)),
                                       signature_of(broadcast(8, 1)),
                                       signature_of(broadcast(9, 0))};
  EXPECT_EQ(all.size(), 10u);
  EXPECT_LT(*all.rbegin(), 1U << kSignatureBits);
}

TEST_F(Signature, MillionsOfCountsHaveHardlyTheSame) {
  std::set<std::uint32_t> seen;
  constexpr int kCounts = 4096;  // of 2^24: half a pair by chance
  Work one = allreduce(1, M::kFloat);
  for (int i = 0; i < kCounts; ++i) {
    one.request.count = static_cast<std::uint64_t>(i) << (i % 3 * 8);
    seen.insert(signature_of(one));
  }
  EXPECT_GT(seen.size(), kCounts - 8u);
}

TEST_F(Signature, ARankIsToldWhatItGives) {
  EXPECT_EQ(describe(allreduce(8, M::kFloat)), "8 x float32, sum");
  EXPECT_EQ(describe(broadcast(8, 3)), "32 bytes, root 3");
  const auto text = given_by(broadcast(8, 3), disagreement(2)).text();
  EXPECT_THAT(text, AllOf(HasSubstr("mismatch: rank 2"), HasSubstr("this rank gives 32 bytes, root 3")));
  const Status other(Code::peer_lost, "rank 1 died");
  EXPECT_EQ(given_by(broadcast(8, 3), other).text(), other.text());
}

}  // namespace
}  // namespace sennit::shim::mpi
