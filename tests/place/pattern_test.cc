#include "place/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "place/made_up.h"

namespace sennit::place {
namespace {

/// Of each rank, how many messages it sends.
std::vector<int> degrees(const Traffic& traffic) {
  std::vector<int> sent(std::size_t(traffic.ranks()), 0);
  for (const Talk& talk : traffic.talks()) sent[std::size_t(talk.from)] += int(talk.messages);
  return sent;
}

TEST(Pattern, AStencilEndsAtItsEdges) {
  const Traffic traffic = pattern("2d-stencil:4x4");
  EXPECT_EQ(traffic.talks().size(), 48u) << "24 edges, both ways";
  EXPECT_THAT(degrees(traffic), testing::ElementsAre(2, 3, 3, 2, 3, 4, 4, 3, 3, 4, 4, 3, 2, 3, 3, 2));
}

/// Left and right are the same process where a dimension has two, and each gets a message.
TEST(Pattern, ATorusOfTwoSendsTwiceToOneNeighbour) {
  const Traffic traffic = pattern("3d-torus:4x2x2");
  EXPECT_THAT(degrees(traffic), testing::Each(6));
  EXPECT_EQ(traffic.talks().size(), 96u);
  EXPECT_EQ(traffic.matrix()[1], 2) << "z: once down, once up";
  EXPECT_EQ(traffic.matrix()[4], 1) << "x has four";
}

TEST(Pattern, AHypercubeSendsOnceAlongEachDimension) {
  EXPECT_THAT(degrees(pattern("4d-hypercube")), testing::Each(4));
  EXPECT_EQ(pattern("hypercube:16").talks(), pattern("4d-hypercube").talks());
  // t is the last dimension, the fastest of the numbering, and heavy.
  EXPECT_EQ(pattern("4d-hypercube:16,w=3").matrix()[1], 3);
  EXPECT_EQ(pattern("4d-hypercube:16,w=3").matrix()[8], 1);
  EXPECT_EQ(pattern("4d-hypercube:16,w=3,order=tzyx").matrix()[8], 3);
}

TEST(Pattern, TheHeavyDimensionAndTheOrderOfRanksAreChosen) {
  EXPECT_EQ(pattern("2d-torus:4x2,w=3").matrix()[2], 3) << "x is the slowest: rank 2 is its next one";
  EXPECT_EQ(pattern("2d-torus:4x2,w=3,order=yx").matrix()[1], 3);
  EXPECT_EQ(pattern("2d-stencil:4x2,w=3,heavy=y").matrix()[1], 3);
}

TEST(Pattern, RingsAndAllPairs) {
  EXPECT_THAT(degrees(pattern("ring:5")), testing::Each(2));
  EXPECT_THAT(degrees(pattern("all-pairs:5")), testing::Each(4));
}

/// tp is the fastest, then dp, then pp; bytes by hand.
TEST(Pattern, GroupsOfATrainingJob) {
  const Traffic traffic = pattern("parallel:tp=2,pp=2,dp=4,tp_bytes=400,dp_bytes=800,pp_bytes=16");
  EXPECT_EQ(traffic.ranks(), 16);
  const auto matrix = traffic.matrix();
  EXPECT_EQ(matrix[1], 400) << "a ring of two: 2 · 1/2 of it to the other";
  EXPECT_EQ(matrix[2], 2 * 0.75 * 800) << "the next of four in a ring";
  EXPECT_EQ(matrix[6], 0) << "the last one is before it: the ring has one direction";
  EXPECT_EQ(matrix[8], 16) << "the next stage";
  EXPECT_EQ(matrix[8 * 16], 16);
}

TEST(Pattern, WhatIsNoneIsRefusedInWords) {
  for (const char* text : {"",
                           "torus",
                           "2d-torus:4",
                           "3d-torus:4x4",
                           "2d-torus:4x",
                           "2d-torus:0x4",
                           "2d-torus:-1x4",
                           "ring",
                           "ring:4x4",
                           "2d-ring:4",
                           "hypercube",
                           "hypercube:12",
                           "4d-hypercube:8",
                           "2d-torus:4x4,w",
                           "2d-torus:4x4,w=-1",
                           "2d-torus:4x4,w=nan",
                           "2d-torus:4x4,w=1e300",
                           "2d-torus:4x4,heavy=z",
                           "2d-torus:4x4,order=xx",
                           "2d-torus:4096x2",
                           "2d-torus:99999999999x1",
                           "all-pairs:4,w=2",
                           "parallel:tp=0",
                           "parallel:tp=64,dp=65",
                           "parallel:ep=2",
                           "parallel:tp_bytes=x",
                           "9d-torus:1",
                           "stencil:2x2x2x2x2x2x2x2x2x2"}) {
    const auto traffic = parse_pattern(text, 1);
    ASSERT_FALSE(traffic.ok()) << text;
    EXPECT_EQ(traffic.status().code(), Code::invalid_argument);
    EXPECT_THAT(traffic.status().remedy(), testing::HasSubstr("2d-stencil:4x4"));
  }
  EXPECT_EQ(pattern("2d-torus:1x1").talks().size(), 0u);
}

}  // namespace
}  // namespace sennit::place
