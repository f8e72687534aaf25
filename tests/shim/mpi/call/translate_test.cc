#include "shim/mpi/call/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../translation.h"

namespace sennit::shim::mpi {
namespace {

using coll::Operation;
using testing::ElementsAre;
using testing::HasSubstr;
using M = MadeUpMpi;

TEST_F(Translate, WhatIsLeftToMpi) {
  Call gaps = call(Family::Allreduce);
  gaps.add(in(a_, run(3, M::kGaps)));
  gaps.add(out(b_, run(3, M::kGaps)));
  EXPECT_THAT(why_not(gaps), HasSubstr("types"));
  Call mine = call(Family::Allreduce, -1, M::kMine);
  mine.add(in(a_, run(3, M::kFloat)));
  mine.add(out(b_, run(3, M::kFloat)));
  EXPECT_THAT(why_not(mine), HasSubstr("operator"));
  mpi_.refuses_bytes = true;
  Call sum_of_bytes = call(Family::Allreduce);
  sum_of_bytes.add(in(a_, run(3, M::kByte)));
  sum_of_bytes.add(out(b_, run(3, M::kByte)));
  EXPECT_THAT(why_not(sum_of_bytes), HasSubstr("reduction"));
  mpi_.comm.inter = true;
  Call inter = call(Family::Allreduce);
  inter.add(in(a_, run(3, M::kFloat)));
  inter.add(out(b_, run(3, M::kFloat)));
  EXPECT_THAT(why_not(inter), HasSubstr("two groups"));
}

TEST_F(Translate, GatheringInPlaceReadsTheOwnPart) {
  Call made = call(Family::Allgather);
  made.add(in(M::in_place(), run(0, M::kFloat)));
  made.add(out(b_, run(4, M::kFloat, 4)));
  const Work done = work(made);
  EXPECT_EQ(done.request.count, 16u);
  EXPECT_EQ(done.request.reduction.type, device::Type::uint8);
  EXPECT_EQ(done.request.input, b_ + 4);
}

TEST_F(Translate, TypesOfBothSidesMayDiffer) {
  Call made = call(Family::Allgather);
  made.add(in(a_, run(1, M::kFourFloats)));
  made.add(out(b_, run(4, M::kFloat, 4)));
  EXPECT_EQ(work(made).request.count, 16u);
  Call wrong = call(Family::Allgather);
  wrong.add(in(a_, run(1, M::kFloat)));
  wrong.add(out(b_, run(4, M::kFloat, 4)));
  EXPECT_NE(why_not(wrong), "");
}

TEST_F(Translate, ScatterAtTheRootInPlace) {
  Call made = call(Family::Scatter, 1);
  made.add(in(a_, run(4, M::kFloat, 4)));
  made.add(out(M::in_place(), run(0, M::kFloat)));
  const Work done = work(made);
  EXPECT_EQ(done.request.input, a_);
  EXPECT_EQ(done.request.output, a_ + 4);
  EXPECT_EQ(done.request.count, 16u);
}

TEST_F(Translate, BroadcastIsInPlace) {
  Call made = call(Family::Bcast, 2);
  made.add({a_, Access::both, true, run(5, M::kFloat)});
  const Work done = work(made);
  EXPECT_EQ(done.request.input, a_);
  EXPECT_EQ(done.request.output, a_);
  EXPECT_EQ(done.request.root, 2);
  EXPECT_EQ(done.request.count, 20u);
}

TEST_F(Translate, MessagesOfDifferentLengths) {
  const int sent[] = {1, 2, 3, 4}, sent_from[] = {0, 1, 3, 6}, received[] = {4, 2, 1, 0},
            received_to[] = {0, 8, 16, 0};
  Elements sends = run(0, M::kFloat, 4), receives = run(0, M::kFloat, 4);
  sends.counts = {sent, false};
  sends.places = {sent_from, false};
  receives.counts = {received, false};
  receives.places = {received_to, false};
  Call made = call(Family::Alltoallv);
  made.add(in(a_, sends));
  made.add(out(b_, receives));
  const Work done = work(made);
  EXPECT_EQ(done.request.operation, Operation::all_to_all_v);
  EXPECT_EQ(done.family, Family::Alltoallv);
  EXPECT_THAT(done.request.sent, ElementsAre(4, 8, 12, 16));
  EXPECT_THAT(done.request.sent_from, ElementsAre(0, 4, 12, 24));
  EXPECT_THAT(done.request.received, ElementsAre(16, 8, 4, 0));
  EXPECT_THAT(done.request.received_to, ElementsAre(0, 32, 64, 0));
  Call in_place = call(Family::Alltoallv);
  in_place.add(in(M::in_place(), sends));
  in_place.add(out(b_, receives));
  EXPECT_THAT(why_not(in_place), HasSubstr("in place"));
}

TEST_F(Translate, GathervSendsToTheRootAlone) {
  Call made = call(Family::Gatherv, 2);
  made.add(in(a_, run(3, M::kFloat)));
  made.add(out(b_, run(0, M::kFloat, 4), false));
  const Work done = work(made);
  EXPECT_EQ(done.family, Family::Gatherv);
  EXPECT_EQ(done.request.root, 2);
  EXPECT_THAT(done.request.sent, ElementsAre(0, 0, 12, 0));
  EXPECT_THAT(done.request.received, ElementsAre(0, 0, 0, 0));
}

TEST_F(Translate, ScattervReceivesFromTheRootAlone) {
  Call made = call(Family::Scatterv, 2);
  made.add(in(a_, run(0, M::kFloat, 4), false));
  made.add(out(b_, run(3, M::kFloat)));
  const Work done = work(made);
  EXPECT_EQ(done.request.root, 2);
  EXPECT_THAT(done.request.sent, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(done.request.received, ElementsAre(0, 0, 12, 0));
}

TEST_F(Translate, AllgathervSendsTheSameToAll) {
  const int counts[] = {1, 3, 2, 5}, places[] = {0, 1, 4, 6};
  Elements receives = run(0, M::kFloat, 4);
  receives.counts = {counts, false};
  receives.places = {places, false};
  Call made = call(Family::Allgatherv);
  made.add(in(a_, run(3, M::kFloat)));
  made.add(out(b_, receives));
  const Work done = work(made);
  EXPECT_THAT(done.request.sent, ElementsAre(12, 12, 12, 12));
  EXPECT_THAT(done.request.sent_from, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(done.request.received, ElementsAre(4, 12, 8, 20));
}

TEST_F(Translate, GatherAtTheRootAndElsewhere) {
  Call elsewhere = call(Family::Gather, 2);
  elsewhere.add(in(a_, run(3, M::kFloat)));
  elsewhere.add(out(b_, run(0, kNoHandle, 4), false));  // arguments that mean nothing here
  const Work there = work(elsewhere);
  EXPECT_EQ(there.request.operation, Operation::gather);
  EXPECT_EQ(there.request.root, 2);
  EXPECT_EQ(there.request.count, 12u);
  EXPECT_EQ(there.request.input, a_);
  EXPECT_EQ(there.request.output, nullptr);
  Call root = call(Family::Gather, 1);
  root.add(in(M::in_place(), run(0, kNoHandle)));
  root.add(out(b_, run(3, M::kFloat, 4)));
  const Work here = work(root);
  EXPECT_EQ(here.request.count, 12u);
  EXPECT_EQ(here.request.output, b_);
  EXPECT_EQ(here.request.input, b_ + 3);
  Call wrong = call(Family::Gather, 1);
  wrong.add(in(a_, run(2, M::kFloat)));
  wrong.add(out(b_, run(3, M::kFloat, 4)));
  EXPECT_NE(why_not(wrong), "");
}

TEST_F(Translate, ScatterElsewhereThanAtTheRoot) {
  Call made = call(Family::Scatter, 0);
  made.add(in(a_, run(0, kNoHandle, 4), false));
  made.add(out(b_, run(4, M::kFloat)));
  const Work done = work(made);
  EXPECT_EQ(done.request.operation, Operation::scatter);
  EXPECT_EQ(done.request.root, 0);
  EXPECT_EQ(done.request.input, nullptr);
  EXPECT_EQ(done.request.output, b_);
  EXPECT_EQ(done.request.count, 16u);
}

TEST_F(Translate, AllToAllAlsoInPlace) {
  Call made = call(Family::Alltoall);
  made.add(in(a_, run(4, M::kFloat, 4)));
  made.add(out(b_, run(1, M::kFourFloats, 4)));
  const Work done = work(made);
  EXPECT_EQ(done.request.operation, Operation::all_to_all);
  EXPECT_EQ(done.request.input, a_);
  EXPECT_EQ(done.request.output, b_);
  EXPECT_EQ(done.request.count, 16u);
  made.parts[0] = in(M::in_place(), run(0, kNoHandle, 4));
  EXPECT_EQ(work(made).request.input, b_);
}

TEST_F(Translate, GathervAtTheRootReceivesFromAll) {
  const std::int64_t counts[] = {1, 3, 0, 2}, places[] = {9, 0, 0, 4};
  Elements receives = run(0, M::kFloat, 4);
  receives.counts = {counts, true};
  receives.places = {places, true};
  Call made = call(Family::Gatherv, 1);
  made.add(in(a_, run(3, M::kFloat)));
  made.add(out(b_, receives));
  const Work done = work(made);
  EXPECT_THAT(done.request.sent, ElementsAre(0, 12, 0, 0));
  EXPECT_THAT(done.request.received, ElementsAre(4, 12, 0, 8));
  EXPECT_THAT(done.request.received_to, ElementsAre(36, 0, 0, 16));
  EXPECT_EQ(done.bytes, 24u);
  made.parts[0].elements.count = 2;  // it would send itself fewer than it wants
  EXPECT_NE(why_not(made), "");
}

TEST_F(Translate, ScattervAtTheRootSendsToAll) {
  const int counts[] = {1, 3, 0, 2}, places[] = {9, 0, 0, 4};
  Elements sends = run(0, M::kFloat, 4);
  sends.counts = {counts, false};
  sends.places = {places, false};
  Call made = call(Family::Scatterv, 1);
  made.add(in(a_, sends));
  made.add(out(b_, run(3, M::kFloat)));
  const Work done = work(made);
  EXPECT_THAT(done.request.sent, ElementsAre(4, 12, 0, 8));
  EXPECT_THAT(done.request.sent_from, ElementsAre(36, 0, 0, 16));
  EXPECT_THAT(done.request.received, ElementsAre(0, 12, 0, 0));
  EXPECT_EQ(done.request.output, b_);
}

/// A block of floats for each of four ranks.
Elements placed(const int (&counts)[4], const int (&places)[4]) {
  Elements all = run(0, M::kFloat, 4);
  all.counts = {counts, false};
  all.places = {places, false};
  return all;
}

TEST_F(Translate, AllgathervInPlaceSendsFromItsOwnPlace) {
  const int counts[] = {1, 3, 0, 2}, places[] = {9, 4, 0, 0};
  const Elements all = placed(counts, places);
  Call made = call(Family::Allgatherv);
  made.add(in(M::in_place(), run(0, M::kFloat)));
  made.add(out(b_, all));
  const Work done = work(made);  // of rank 1
  EXPECT_THAT(done.request.sent, ElementsAre(12, 12, 12, 12));
  EXPECT_THAT(done.request.sent_from, ElementsAre(16, 16, 16, 16));
  EXPECT_THAT(done.request.received, ElementsAre(4, 12, 0, 8));
  EXPECT_EQ(done.request.input, b_);
  EXPECT_EQ(done.request.output, b_);
}

TEST_F(Translate, AtTheRootInPlaceTheOwnMessageStays) {
  const int counts[] = {1, 3, 0, 2}, places[] = {9, 4, 0, 0};
  const Elements all = placed(counts, places);
  Call gather = call(Family::Gatherv, 1);
  gather.add(in(M::in_place(), run(0, M::kFloat)));
  gather.add(out(b_, all));
  const Work gathered = work(gather);
  EXPECT_THAT(gathered.request.sent, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(gathered.request.received, ElementsAre(4, 0, 0, 8));
  EXPECT_EQ(gathered.request.input, nullptr);
  EXPECT_EQ(gathered.request.output, b_);
  Call scatter = call(Family::Scatterv, 1);
  scatter.add(in(a_, all));
  scatter.add(out(M::in_place(), run(0, M::kFloat)));
  const Work scattered = work(scatter);
  EXPECT_THAT(scattered.request.sent, ElementsAre(4, 0, 0, 8));
  EXPECT_THAT(scattered.request.received, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(scattered.request.input, a_);
  EXPECT_EQ(scattered.request.output, nullptr);
}

TEST_F(Translate, OtherInPlaceCallsOfDifferentLengthsAreLeftToMpi) {
  const int counts[] = {1, 1, 1, 1}, places[] = {0, 1, 2, 3};
  const Elements all = placed(counts, places);
  Call each_way = call(Family::Alltoallv);
  each_way.add(in(M::in_place(), all));
  each_way.add(out(b_, all));
  EXPECT_THAT(why_not(each_way), HasSubstr("in place"));
  Call elsewhere = call(Family::Gatherv, 2);  // MPI_IN_PLACE is the root's alone
  elsewhere.add(in(M::in_place(), run(1, M::kFloat)));
  elsewhere.add(out(b_, all, false));
  EXPECT_THAT(why_not(elsewhere), HasSubstr("in place"));
}

TEST_F(Translate, PlacesBeforeTheBufferAreLeftToMpi) {
  const int counts[] = {1, 1, 1, 1}, places[] = {0, 1, -1, 3};
  Elements all = run(0, M::kFloat, 4);
  all.counts = {counts, false};
  all.places = {places, false};
  Call made = call(Family::Allgatherv);
  made.add(in(a_, run(1, M::kFloat)));
  made.add(out(b_, all));
  EXPECT_NE(why_not(made), "");
}

TEST_F(Translate, NegativeCountsAreLeftToMpi) {
  for (const Family family : {Family::Allreduce, Family::Reduce, Family::Reduce_scatter_block, Family::Allgather,
                              Family::Gather, Family::Scatter, Family::Alltoall, Family::Allgatherv}) {
    Call made = call(family, 1);
    made.add(in(a_, run(-1, M::kFloat)));
    made.add(out(b_, run(-1, M::kFloat)));
    EXPECT_NE(why_not(made), "") << int(family);
  }
  Call bcast = call(Family::Bcast, 1);
  bcast.add({a_, Access::both, true, run(-1, M::kFloat)});
  EXPECT_NE(why_not(bcast), "");
}

TEST_F(Translate, TypesWithGapsAreLeftToMpi) {
  for (const Family family : {Family::Reduce, Family::Reduce_scatter_block, Family::Allgather, Family::Gather,
                              Family::Scatter, Family::Alltoall, Family::Allgatherv}) {
    Call made = call(family, 1);
    made.add(in(a_, run(1, M::kGaps)));
    made.add(out(b_, run(1, M::kGaps)));
    EXPECT_THAT(why_not(made), HasSubstr("types")) << int(family);
  }
  Call bcast = call(Family::Bcast, 1);
  bcast.add({a_, Access::both, true, run(1, M::kGaps)});
  EXPECT_THAT(why_not(bcast), HasSubstr("types"));
}

TEST_F(Translate, OtherFamiliesAreLeftToMpi) {
  for (const Family family : {Family::Alltoallw, Family::Neighbor_allgather, Family::Neighbor_alltoallv}) {
    Call made = call(family, 1);
    made.add(in(a_, run(1, M::kFloat)));
    made.add(out(b_, run(1, M::kFloat)));
    EXPECT_NE(why_not(made), "") << int(family);
  }
}

TEST_F(Translate, WhatMpiRefusesIsLeftToIt) {
  const int counts[] = {1, -1, 3, 1};
  Elements all = run(0, M::kFloat, 4);
  all.counts = {counts, false};
  Call scattered = call(Family::Reduce_scatter);
  scattered.add(in(a_, all));
  scattered.add(out(b_, run(-1, M::kFloat)));
  EXPECT_THAT(why_not(scattered), HasSubstr("refuses"));
  for (const int root : {-1, 4}) {
    Call rooted = call(Family::Bcast, root);
    rooted.add({a_, Access::both, true, run(1, M::kFloat)});
    EXPECT_THAT(why_not(rooted), HasSubstr("refuses")) << root;
  }
}

}  // namespace
}  // namespace sennit::shim::mpi
