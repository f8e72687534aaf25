#include "bench/mpi/result.h"

#include <gtest/gtest.h>

#include "made_up_job.h"

namespace sennit::bench::mpi {
namespace {

TEST(MpiResult, RatesAreOfAllThatTravelsAtOnce) {
  const auto rate = [](Operation operation, int ranks) {
    return gbps({{operation, Buffers::host, 1000}, 0, ranks}, 1);
  };
  EXPECT_DOUBLE_EQ(rate(Operation::bandwidth, 4), 1);
  EXPECT_DOUBLE_EQ(rate(Operation::bidirectional, 4), 2);
  EXPECT_DOUBLE_EQ(rate(Operation::multi_pair, 8), 4);
  EXPECT_DOUBLE_EQ(rate(Operation::allreduce, 8), 1);
}

TEST(MpiResult, ARowSaysWhatWasComparedWithWhat) {
  Times times;
  times.summary = {2, 0.1, 1.9, 2.5, 40};
  times.calls = 500;
  const Layout layout{{Operation::allreduce, Buffers::gpu, 4096, 1, true}, 0, 4};
  EXPECT_FALSE(to_json(layout, {kOwn, true, false}, kFloats, times).contains("sennit"));
  times.against = {1.5, 1.4, 1.6};
  const Json row = to_json(layout, {"by_hand", false, true}, kFloats, times);
  EXPECT_EQ(row.at("sennit").at("times_as_fast"), 1.5);
  EXPECT_EQ(row.at("operator"), "sum");
  EXPECT_EQ(row.at("osu"), "osu_allreduce");
  EXPECT_EQ(row.at("buffers"), "gpu");
  EXPECT_EQ(row.at("calls"), 500);
  EXPECT_TRUE(row.at("verified").get<bool>());
  const Json barrier = to_json({{Operation::barrier}, 0, 4, 2}, {kOwn, true, false}, kFloats, times);
  EXPECT_EQ(row.at("nodes"), 1);
  EXPECT_EQ(barrier.at("nodes"), 2);
  EXPECT_EQ(barrier.at("buffers"), "");
  EXPECT_FALSE(barrier.at("verified").get<bool>()) << "there is nothing to compare";
}

TEST(MpiResult, UnsteadyTimesAreCounted) {
  const Json steady = {{"median_us", 10}, {"spread_us", 0.5}}, shaky = {{"median_us", 10}, {"spread_us", 1.5}};
  EXPECT_TRUE(unsteady(Json::array({steady})).empty());
  ASSERT_EQ(unsteady(Json::array({steady, shaky})).size(), 1u);
  EXPECT_EQ(unsteady(Json::array({steady, shaky}))[0].substr(0, 44), "1 of 2 times spread by more than 10 % of the");
}

}  // namespace
}  // namespace sennit::bench::mpi
