// Calls that reduce.
#include "shim/mpi/call/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../translation.h"

namespace sennit::shim::mpi {
namespace {

using coll::Operation;
using testing::ElementsAre;
using M = MadeUpMpi;

TEST_F(Translate, AllreduceOfNumbers) {
  Call made = call(Family::Allreduce);
  made.add(in(a_, run(12, M::kFloat)));
  made.add(out(b_, run(12, M::kFloat)));
  const Work done = work(made);
  EXPECT_EQ(done.request.operation, Operation::allreduce);
  EXPECT_EQ(done.request.count, 12u);
  EXPECT_EQ(done.request.reduction.type, device::Type::float32);
  EXPECT_EQ(done.request.input, a_);
  EXPECT_EQ(done.request.output, b_);
  EXPECT_EQ(done.bytes, 48u);
}

TEST_F(Translate, WhatIsReducedOfDerivedTypesIsTheRealFunctionsToRefuse) {
  for (const Family family :
       {Family::Allreduce, Family::Reduce, Family::Scan, Family::Exscan, Family::Reduce_scatter_block}) {
    Call made = call(family, 0);
    made.add(in(a_, run(3, M::kFourFloats)));
    made.add(out(b_, run(3, M::kFourFloats)));
    EXPECT_EQ(why_not(made), "derived or mixed types");
  }
}

TEST_F(Translate, OneBufferForTwoIsTheRealFunctionsToRefuse) {
  Call made = call(Family::Allreduce);
  made.add(in(a_, run(3, M::kFloat)));
  made.add(out(a_, run(3, M::kFloat)));
  EXPECT_EQ(why_not(made), "one buffer for two");
  Call own = call(Family::Allgather);
  own.add(in(a_ + 3, run(3, M::kFloat)));
  own.add(out(a_, run(3, M::kFloat, 4)));
  EXPECT_EQ(why_not(own), "one buffer for two");
  Call elsewhere = call(Family::Reduce, 0);
  elsewhere.add(in(a_, run(3, M::kFloat)));
  elsewhere.add(out(a_, run(3, M::kFloat), false));
  EXPECT_EQ(why_not(elsewhere), "") << "nothing is received here";
}

TEST_F(Translate, AllreduceInPlace) {
  Call made = call(Family::Allreduce);
  made.add(in(M::in_place(), run(3, M::kDouble)));
  made.add(out(b_, run(3, M::kDouble)));
  EXPECT_EQ(work(made).request.input, b_);
}

TEST_F(Translate, ReduceAtTheRootAndElsewhere) {
  Call elsewhere = call(Family::Reduce, 3);
  elsewhere.add(in(a_, run(2, M::kFloat)));
  elsewhere.add(out(b_, run(2, M::kFloat), false));
  const Work there = work(elsewhere);
  EXPECT_EQ(there.request.root, 3);
  EXPECT_EQ(there.request.output, nullptr);
  Call root = call(Family::Reduce, 1);
  root.add(in(M::in_place(), run(2, M::kFloat)));
  root.add(out(b_, run(2, M::kFloat)));
  EXPECT_EQ(work(root).request.input, b_);
  EXPECT_EQ(work(root).request.output, b_);
}

TEST_F(Translate, ReduceScatterBlockInPlaceNeedsScratch) {
  Call made = call(Family::Reduce_scatter_block);
  made.add(in(M::in_place(), run(2, M::kFloat, 4)));
  made.add(out(b_, run(2, M::kFloat, 4)));
  const Work done = work(made);
  EXPECT_EQ(done.request.operation, Operation::reduce_scatter);
  EXPECT_EQ(done.request.count, 2u);
  EXPECT_EQ(done.request.input, b_);
  EXPECT_EQ(done.scratch_bytes, 8u);
  EXPECT_EQ(done.result_from, 0u);
  EXPECT_EQ(done.result_bytes, 8u);
  EXPECT_EQ(done.result, b_);
}

TEST_F(Translate, ReduceScatterOfUnequalParts) {
  const int counts[] = {1, 2, 0, 4};
  Elements all = run(0, M::kDouble, 4);
  all.counts = {counts, false};
  Call made = call(Family::Reduce_scatter);
  made.add(in(a_, all));
  made.add(out(b_, run(2, M::kDouble)));
  const Work done = work(made);
  EXPECT_EQ(done.request.operation, Operation::allreduce);
  EXPECT_EQ(done.request.count, 7u);
  EXPECT_EQ(done.scratch_bytes, 56u);
  EXPECT_EQ(done.result_from, 8u);
  EXPECT_EQ(done.result_bytes, 16u);
  EXPECT_THAT(done.parts, ElementsAre(8, 16, 0, 32));
}

TEST_F(Translate, ReduceScatterOfEqualParts) {
  const std::int64_t counts[] = {2, 2, 2, 2};
  Elements all = run(0, M::kFloat, 4);
  all.counts = {counts, true};
  Call made = call(Family::Reduce_scatter);
  made.add(in(a_, all));
  made.add(out(b_, run(2, M::kFloat)));
  const Work done = work(made);
  EXPECT_EQ(done.request.operation, Operation::reduce_scatter);
  EXPECT_EQ(done.request.count, 2u);
  EXPECT_EQ(done.scratch_bytes, 0u);
  EXPECT_THAT(done.parts, ElementsAre());
}

TEST_F(Translate, ComplexNumbersAreTwo) {
  mpi_.uniforms[70] = {*parse_meaning("complex128"), 1};
  Call made = call(Family::Allreduce);
  made.add(in(a_, run(2, 70)));
  made.add(out(b_, run(2, 70)));
  const Work done = work(made);
  EXPECT_EQ(done.request.reduction.type, device::Type::float64);
  EXPECT_EQ(done.request.count, 4u);
  EXPECT_EQ(done.bytes, 32u);
}

TEST_F(Translate, TheOperatorIsMpis) {
  mpi_.operators[71] = device::Operator::max;
  Call made = call(Family::Allreduce, -1, 71);
  made.add(in(a_, run(2, M::kFloat)));
  made.add(out(b_, run(2, M::kFloat)));
  EXPECT_EQ(work(made).request.reduction.op, device::Operator::max);
}

TEST_F(Translate, ReduceScatterBlock) {
  Call made = call(Family::Reduce_scatter_block);
  made.add(in(a_, run(8, M::kFloat, 4)));
  made.add(out(b_, run(8, M::kFloat)));
  const Work done = work(made);
  EXPECT_EQ(done.request.operation, Operation::reduce_scatter);
  EXPECT_EQ(done.request.count, 8u);
  EXPECT_EQ(done.request.input, a_);
  EXPECT_EQ(done.request.output, b_);
  EXPECT_EQ(done.scratch_bytes, 0u);
}

TEST_F(Translate, ReduceScatterInPlaceNeedsScratch) {
  const int equal[] = {2, 2, 2, 2}, unequal[] = {3, 2, 0, 1};
  Elements all = run(0, M::kFloat, 4);
  all.counts = {equal, false};
  Call made = call(Family::Reduce_scatter);
  made.add(in(M::in_place(), all));
  made.add(out(b_, all));
  const Work block = work(made);
  EXPECT_EQ(block.request.operation, Operation::reduce_scatter);
  EXPECT_EQ(block.request.input, b_);
  EXPECT_EQ(block.scratch_bytes, 8u);
  EXPECT_EQ(block.result_from, 0u);
  EXPECT_EQ(block.result_bytes, 8u);
  EXPECT_EQ(block.result, b_);
  all.counts = {unequal, false};
  made.parts[0].elements = made.parts[1].elements = all;
  const Work whole = work(made);
  EXPECT_EQ(whole.request.operation, Operation::allreduce);
  EXPECT_EQ(whole.request.input, b_);
  EXPECT_EQ(whole.request.count, 6u);
  EXPECT_EQ(whole.scratch_bytes, 24u);
  EXPECT_EQ(whole.result_from, 12u);
  EXPECT_EQ(whole.result_bytes, 8u);
  EXPECT_EQ(whole.result, b_);
}

TEST_F(Translate, ReduceScatterOfNothingForThisRank) {
  const int counts[] = {3, 0, 0, 1};
  Elements all = run(0, M::kFloat, 4);
  all.counts = {counts, false};
  Call made = call(Family::Reduce_scatter);
  made.add(in(a_, all));
  made.add(out(nullptr, run(0, M::kFloat)));
  const Work done = work(made);
  EXPECT_EQ(done.request.count, 4u) << "it must take part";
  EXPECT_EQ(done.scratch_bytes, 16u);
  EXPECT_EQ(done.result_bytes, 0u);
}

TEST_F(Translate, ScanGathersAndReducesTheRanksBefore) {
  Call made = call(Family::Scan);
  made.add(in(a_, run(3, M::kDouble)));
  made.add(out(b_, run(3, M::kDouble)));
  const Work inclusive = work(made);  // of rank 1
  EXPECT_EQ(inclusive.request.operation, Operation::allgather);
  EXPECT_EQ(inclusive.request.count, 24u);
  EXPECT_EQ(inclusive.request.input, a_);
  EXPECT_EQ(inclusive.result, b_);
  ASSERT_TRUE(inclusive.scan);
  EXPECT_EQ(inclusive.scan->end, 2);
  EXPECT_EQ(inclusive.scan->reduction.type, device::Type::float64);
  Call before = call(Family::Exscan);
  before.add(in(M::in_place(), run(3, M::kDouble)));
  before.add(out(b_, run(3, M::kDouble)));
  const Work exclusive = work(before);
  EXPECT_EQ(exclusive.request.input, b_);
  ASSERT_TRUE(exclusive.scan);
  EXPECT_EQ(exclusive.scan->end, 1);
}

}  // namespace
}  // namespace sennit::shim::mpi
