#include "plan/correction.h"

#include <gtest/gtest.h>

namespace sennit::plan {
namespace {

std::optional<std::size_t> repeat(Correction& correction, double us, int times) {
  for (int i = 0; i < times; ++i)
    if (const auto change = correction.observe(us)) return change;
  return std::nullopt;
}

TEST(Correction, LeavesAPlanAloneThatTakesWhatItShould) {
  Correction correction({100, 105});
  EXPECT_FALSE(repeat(correction, 120, 10000));
  EXPECT_EQ(correction.current(), 0u);
}

TEST(Correction, AFewSlowCallsDoNotCount) {
  Correction correction({100, 105});
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(repeat(correction, 300, 7));
    EXPECT_FALSE(correction.observe(100));
  }
}

TEST(Correction, APlanThatStaysSlowGivesWayToTheNext) {
  Correction correction({100, 105, 110});
  EXPECT_EQ(repeat(correction, 300, 8), std::optional<std::size_t>(1));
  EXPECT_FALSE(repeat(correction, 106, 100));
  EXPECT_EQ(correction.current(), 1u);
}

TEST(Correction, WhereAllAreSlowTheLeastSlowIsKept) {
  Correction correction({100, 105}, {.retry = 1000000});
  EXPECT_EQ(repeat(correction, 300, 8), std::optional<std::size_t>(1));
  EXPECT_EQ(repeat(correction, 500, 8), std::optional<std::size_t>(0)) << "the other was not as bad";
  EXPECT_FALSE(repeat(correction, 300, 10000)) << "and now it stays: no swinging to and fro";
}

TEST(Correction, TheFirstIsTriedAgainLessAndLessOften) {
  Correction correction({100, 105}, {.patience = 4, .retry = 10});
  EXPECT_EQ(repeat(correction, 300, 4), std::optional<std::size_t>(1));
  int samples = 0;
  std::vector<int> waits;
  for (int round = 0; round < 3; ++round) {
    for (samples = 1; !correction.observe(105); ++samples) ASSERT_LT(samples, 1000);
    waits.push_back(samples);
    EXPECT_EQ(correction.current(), 0u);
    EXPECT_EQ(repeat(correction, 300, 4), std::optional<std::size_t>(1));
  }
  EXPECT_EQ(waits, (std::vector{10, 20, 40}));
}

TEST(Correction, ShortCallsMayVaryByALaunch) {
  Correction correction({5, 6});
  EXPECT_FALSE(repeat(correction, 14, 1000));
}

TEST(Correction, WithoutAnAlternativeNothingChanges) {
  Correction correction({100});
  EXPECT_FALSE(repeat(correction, 1000, 1000));
}

}  // namespace
}  // namespace sennit::plan
