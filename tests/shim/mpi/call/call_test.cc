#include "shim/mpi/call/call.h"

#include <gtest/gtest.h>

#include "../made_up_mpi.h"

namespace sennit::shim::mpi {
namespace {

using M = MadeUpMpi;

void expect_span(const std::optional<Span>& span, std::int64_t first, std::int64_t last) {
  ASSERT_TRUE(span);
  EXPECT_EQ(span->first, first);
  EXPECT_EQ(span->last, last);
}

TEST(Call, ASpanCoversAllElements) {
  const M mpi;
  expect_span(span_of(mpi, run(10, M::kFloat)), 0, 40);
  expect_span(span_of(mpi, run(10, M::kFloat, 3)), 0, 120);
  expect_span(span_of(mpi, run(7, kNoHandle)), 0, 7);
  expect_span(span_of(mpi, run(0, M::kFloat)), 0, 0);
}

TEST(Call, ASpanOfGapsBeginsAndEndsWithData) {
  const M mpi;
  expect_span(span_of(mpi, run(1, M::kGaps)), 4, 12);
  expect_span(span_of(mpi, run(3, M::kGaps)), 4, 44);
}

TEST(Call, ATypeMayGoBackwards) {
  M mpi;
  mpi.shapes[50] = {4, 0, -8, 0, 4};
  mpi.shapes[51] = {4, -16, 20, -16, 4};
  expect_span(span_of(mpi, run(3, 50)), -16, 4);
  expect_span(span_of(mpi, run(1, 51)), -16, -12);
}

TEST(Call, ABufferMayLieInAnother) {
  const M mpi;
  float at[64] = {};
  const auto overlap = [&](Part sent, Part received) {
    Call call(mpi, Family::Allgather, Form::blocking, M::kComm);
    call.add(sent);
    call.add(received);
    return overlap_of(call);
  };
  const auto in = [](const void* address, const Elements& elements) {
    return Part{address, Access::in, true, elements};
  };
  const auto own = overlap(in(at + 3, run(3, M::kFloat)), in(at, run(3, M::kFloat, 4)));
  ASSERT_TRUE(own);
  EXPECT_EQ(own->outer, 1u);
  EXPECT_EQ(own->inner, 0u);
  EXPECT_EQ(own->place, 12);
  const auto longer = overlap(in(at, run(9, M::kFloat)), in(at, run(3, M::kFloat)));
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->outer, 0u);
  EXPECT_EQ(longer->place, 0);
  EXPECT_FALSE(overlap(in(at, run(3, M::kFloat)), in(at + 3, run(3, M::kFloat)))) << "one behind the other";
  EXPECT_FALSE(overlap(in(at, run(0, M::kFloat)), in(at, run(3, M::kFloat)))) << "nothing is sent";
  EXPECT_FALSE(overlap(in(M::in_place(), run(3, M::kFloat)), in(at, run(3, M::kFloat))));
}

TEST(Call, ABufferInAGapOfAnotherIsNoPartOfIt) {
  const M mpi;
  float at[64] = {};
  const int counts[] = {3, 3}, ends[] = {0, 9};
  Call call(mpi, Family::Alltoallv, Form::blocking, M::kComm);
  Elements sent = run(0, M::kFloat);
  sent.blocks = 2;
  sent.counts = {counts, false};
  sent.places = {ends, false};
  call.add({at, Access::in, true, sent});
  call.add({at + 3, Access::out, true, run(3, M::kFloat, 2)});
  EXPECT_FALSE(overlap_of(call));
  call.parts[1].address = at + 9;
  call.parts[1].elements = run(3, M::kFloat);
  EXPECT_TRUE(overlap_of(call)) << "what is sent to the second rank";
}

TEST(Call, PlacesAreInExtents) {
  const M mpi;
  const int counts[] = {2, 0, 3}, places[] = {5, 900, 1};
  Elements elements = run(0, M::kDouble, 3);
  elements.counts = {counts, false};
  elements.places = {places, false};
  expect_span(span_of(mpi, elements), 8, 56);
  const std::int64_t wide_counts[] = {2, 0, 3}, wide_places[] = {std::int64_t{1} << 33, 0, 1};
  elements.counts = {wide_counts, true};
  elements.places = {wide_places, true};
  expect_span(span_of(mpi, elements), 8, ((std::int64_t{1} << 33) + 2) * 8);
}

TEST(Call, PlacesOfDifferentTypesAreInBytes) {
  const M mpi;
  const int counts[] = {1, 2}, places[] = {100, 3};
  void* const pointers[] = {reinterpret_cast<void*>(M::kDouble), reinterpret_cast<void*>(M::kFloat)};
  const int numbers[] = {M::kDouble, M::kFloat};
  Elements elements = run(0, kNoHandle, 2);
  elements.counts = {counts, false};
  elements.places = {places, false};
  elements.types = pointers;
  expect_span(span_of(mpi, elements), 3, 108);
  elements.types = numbers;
  elements.types_are_pointers = false;
  expect_span(span_of(mpi, elements), 3, 108);
}

TEST(Call, WhatIsWrongIsLeftToMpi) {
  const M mpi;
  EXPECT_FALSE(span_of(mpi, run(1, 77)));
  EXPECT_FALSE(span_of(mpi, run(-1, M::kFloat)));
}

TEST(Call, OnlyTypesWithoutGapsAreDense) {
  const M mpi;
  EXPECT_TRUE(is_dense(mpi, run(3, M::kFourFloats)));
  EXPECT_TRUE(is_dense(mpi, run(3, kNoHandle)));
  EXPECT_FALSE(is_dense(mpi, run(3, M::kGaps)));
  const int counts[] = {1};
  Elements placed = run(0, M::kFloat);
  placed.counts = placed.places = {counts, false};
  EXPECT_FALSE(is_dense(mpi, placed));
}

TEST(Call, ABufferThatIsNotLookedAtIsNotUsed) {
  float data[4];
  EXPECT_TRUE((Part{data, Access::in, true, run(4, M::kFloat)}).used());
  EXPECT_FALSE((Part{data, Access::in, false, run(4, M::kFloat)}).used());
  EXPECT_FALSE((Part{data, Access::in, true, run(0, M::kFloat)}).used());
  EXPECT_FALSE((Part{nullptr, Access::in, true, run(4, M::kFloat)}).used());
}

TEST(Call, KnowsItsPlace) {
  M mpi;
  mpi.comm = {2, 4, false, 0};
  Call call(mpi, Family::Gather, Form::blocking, M::kComm);
  EXPECT_TRUE(call.at_root(2));
  EXPECT_FALSE(call.at_root(0));
  EXPECT_EQ(call.blocks(), 4);
  EXPECT_EQ(call.sources(), 2);
  EXPECT_EQ(call.destinations(), 3);
  EXPECT_FALSE(call.in_place());
  call.add({M::in_place(), Access::in, true, run(1, M::kFloat)});
  EXPECT_TRUE(call.in_place());
}

TEST(Call, BetweenTwoGroupsBlocksAreTheOthers) {
  M mpi;
  mpi.comm = {0, 2, true, 5};
  const Call call(mpi, Family::Gather, Form::blocking, M::kComm);
  EXPECT_EQ(call.blocks(), 5);
  EXPECT_TRUE(call.at_root(-4));
  EXPECT_FALSE(call.at_root(0));
}

TEST(Call, BlocksWithoutPlacesFollowEachOther) {
  const M mpi;
  const int counts[] = {2, 0, 3};
  Elements elements = run(0, M::kDouble, 3);
  elements.counts = {counts, false};
  expect_span(span_of(mpi, elements), 0, 40);
  elements.type = M::kGaps;
  expect_span(span_of(mpi, elements), 4, 4 * 16 + 12);
}

TEST(Call, PlacesMayBeBeforeTheBuffer) {
  M mpi;
  const int counts[] = {1, 1}, places[] = {-3, 2};
  Elements elements = run(0, M::kFloat, 2);
  elements.counts = {counts, false};
  elements.places = {places, false};
  expect_span(span_of(mpi, elements), -12, 12);
  mpi.shapes[52] = {4, -8, 12, -8, 4};  // its data is before its beginning
  elements.type = 52;
  expect_span(span_of(mpi, elements), -44, 20);
}

TEST(Call, TheSameCountForEveryPlace) {
  const M mpi;
  const std::int64_t places[] = {4, 0};
  Elements elements = run(2, M::kFloat, 2);
  elements.places = {places, true};
  expect_span(span_of(mpi, elements), 0, 24);
}

TEST(Call, PlacesThatHaveNothingDoNotCount) {
  const M mpi;
  const int counts[] = {0, 0}, places[] = {-100, 100};
  Elements elements = run(0, M::kFloat, 2);
  elements.counts = {counts, false};
  elements.places = {places, false};
  expect_span(span_of(mpi, elements), 0, 0);
  EXPECT_FALSE((Part{&mpi, Access::in, true, elements}).used());
}

TEST(Call, OneFaultOfSeveralIsEnough) {
  const M mpi;
  const int counts[] = {1, -1}, good[] = {1, 1}, places[] = {0, 0};
  const int types[] = {M::kFloat, 77};
  Elements elements = run(0, M::kFloat, 2);
  elements.counts = {counts, false};
  EXPECT_FALSE(span_of(mpi, elements));
  elements.counts = {good, false};
  elements.places = {places, false};
  elements.types = types;
  elements.types_are_pointers = false;
  EXPECT_FALSE(span_of(mpi, elements));
}

TEST(Call, APartsCountIsThatOfAllItsBlocks) {
  const std::int64_t counts[] = {std::int64_t{1} << 40, 5, 0};
  Elements elements = run(7, M::kFloat, 3);
  EXPECT_EQ((Part{nullptr, Access::in, true, elements}).count(), 21);
  elements.counts = {counts, true};
  EXPECT_EQ((Part{nullptr, Access::in, true, elements}).count(), (std::int64_t{1} << 40) + 5);
}

TEST(Call, OnlyTheSecondBufferMayBeTheOneInPlace) {
  const M mpi;
  float data[1];
  Call call(mpi, Family::Scatter, Form::blocking, M::kComm);
  call.add({data, Access::in, true, run(1, M::kFloat)});
  EXPECT_FALSE(call.in_place());
  call.add({M::in_place(), Access::out, true, run(1, M::kFloat)});
  EXPECT_TRUE(call.in_place());
  EXPECT_EQ(call.all().size(), 2u);
}

TEST(Call, WithoutACommunicatorARankIsAlone) {
  M mpi;
  mpi.comm = {3, 9, false, 0};
  const Call call(mpi, Family::Reduce_local, Form::blocking, kNoHandle);
  EXPECT_EQ(call.place().rank, 0);
  EXPECT_EQ(call.blocks(), 1);
}

TEST(Call, ATypeWithRoomBehindItIsNotDense) {
  M mpi;
  mpi.shapes[53] = {4, 0, 8, 0, 4};    // resized
  mpi.shapes[54] = {4, -4, 4, -4, 4};  // as long as its data, but elsewhere
  EXPECT_FALSE(is_dense(mpi, run(1, 53)));
  EXPECT_FALSE(is_dense(mpi, run(1, 54)));
  EXPECT_FALSE(is_dense(mpi, run(1, 77)));
}

TEST(Call, WhereNothingGoesThereMayBeNoType) {
  const M mpi;
  const int counts[] = {2, 0}, places[] = {0, 0}, types[] = {M::kFloat, 77};
  Elements elements = run(0, kNoHandle, 2);
  elements.counts = {counts, false};
  elements.places = {places, false};
  elements.types = types;
  elements.types_are_pointers = false;
  expect_span(span_of(mpi, elements), 0, 8);
}

}  // namespace
}  // namespace sennit::shim::mpi
