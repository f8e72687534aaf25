#include "shim/mpi/call/segments.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../gaps_mpi.h"

namespace sennit::shim::mpi {
namespace {

using M = MadeUpMpi;
using testing::ElementsAre;

stage::Segment stretch(std::int64_t first, std::int64_t bytes) {
  return {first, bytes};
}

class SegmentsTest : public testing::Test {
 protected:
  const GapsMpi mpi_{};
};

TEST_F(SegmentsTest, WhatHasNoGapsIsOneSegment) {
  const auto segments = segments_of(mpi_, run(3, M::kFourFloats));
  ASSERT_EQ(segments->size(), 1u);
  EXPECT_THAT(segments->front().each, ElementsAre(stretch(0, 48)));
  EXPECT_EQ(segments->front().times, 1);
}

TEST_F(SegmentsTest, ElementsWithGapsAreSegmentsAgainAndAgain) {
  const auto segments = segments_of(mpi_, run(3, M::kGaps));
  ASSERT_EQ(segments->size(), 1u);
  EXPECT_THAT(segments->front().each, ElementsAre(stretch(4, 8)));
  EXPECT_EQ(segments->front().times, 3);
  EXPECT_EQ(segments->front().stride, 16);
  EXPECT_EQ(segments->front().bytes(), 24);
}

TEST_F(SegmentsTest, BlocksThatTouchAreOneAndOthersAreNot) {
  const int counts[] = {2, 3, 0, 1}, places[] = {10, 0, 77, 12};
  Elements elements = run(0, M::kFloat);
  elements.blocks = 4;
  elements.counts = {counts, false};
  elements.places = {places, false};
  const auto segments = segments_of(mpi_, elements);
  ASSERT_EQ(segments->size(), 1u);
  EXPECT_THAT(segments->front().each, ElementsAre(stretch(0, 12), stretch(40, 12))) << "what lies between is others'";
}

TEST_F(SegmentsTest, BlocksWithGapsBeginAtTheirPlaces) {
  const int counts[] = {2, 1}, places[] = {5, 0};
  Elements elements = run(0, M::kGaps);
  elements.blocks = 2;
  elements.counts = {counts, false};
  elements.places = {places, false};
  const auto segments = segments_of(mpi_, elements);
  ASSERT_EQ(segments->size(), 2u);
  EXPECT_THAT(segments->at(0).each, ElementsAre(stretch(84, 8)));
  EXPECT_EQ(segments->at(0).times, 2);
  EXPECT_THAT(segments->at(1).each, ElementsAre(stretch(4, 8)));
}

TEST_F(SegmentsTest, NothingHasNone) {
  EXPECT_TRUE(segments_of(mpi_, run(0, M::kGaps))->empty());
}

TEST_F(SegmentsTest, WhatMpiDoesNotTakeIsNone) {
  EXPECT_FALSE(segments_of(mpi_, run(1, 999)));
  EXPECT_FALSE(segments_of(mpi_, run(-1, M::kFloat)));
  EXPECT_FALSE(segments_of(MadeUpMpi(), run(1, M::kGaps))) << "it cannot unpack";
}

}  // namespace
}  // namespace sennit::shim::mpi
