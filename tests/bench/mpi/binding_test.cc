#include "bench/mpi/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::bench::mpi {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Cores wide(std::vector<int> allowed, std::vector<int> near = {}, std::vector<int> core = {}) {
  return {"a", std::move(allowed), std::move(near), std::move(core)};
}

TEST(Binding, EveryRankGetsACoreOfItsOwn) {
  EXPECT_THAT(assign({wide({0, 1, 2}), wide({0, 1, 2})}), ElementsAre(0, 1));
  EXPECT_THAT(assign({wide({0}), wide({0})}), IsEmpty()) << "too few";
  EXPECT_THAT(assign({wide({}), wide({})}), IsEmpty());
}

TEST(Binding, CoresNearTheGpuComeFirst) {
  EXPECT_THAT(assign({wide({0, 1, 2, 3}, {2, 3}), wide({0, 1, 2, 3}, {2, 3}), wide({0, 1, 2, 3}, {2, 3})}),
              ElementsAre(2, 3, 0));
}

TEST(Binding, TwoThreadsOfACoreAreTheLastResort) {
  const std::vector<int> all{0, 1, 2, 3}, core{0, 0, 2, 2};
  EXPECT_THAT(assign({wide(all, {}, core), wide(all, {}, core), wide(all, {}, core)}), ElementsAre(0, 2, 1));
}

TEST(Binding, WhatTheLauncherBoundStays) {
  const std::vector<Cores> apart{wide({0}), wide({1})};
  EXPECT_TRUE(bound(apart));
  EXPECT_THAT(assign(apart), IsEmpty());
  std::vector<Cores> hosts{wide({0, 1}), wide({0, 1})};
  EXPECT_FALSE(bound(hosts));
  hosts[1].host = "b";
  EXPECT_TRUE(bound(hosts)) << "of one rank a host nothing is shared";
}

TEST(Binding, TravelsAsText) {
  const Cores sent = wide({0, 2}, {2}, {0, 1}), came = cores_from(to_text(sent));
  EXPECT_EQ(came.host, sent.host);
  EXPECT_EQ(came.allowed, sent.allowed);
  EXPECT_EQ(came.near, sent.near);
  EXPECT_EQ(came.core, sent.core);
  EXPECT_THAT(cores_from("nonsense").allowed, IsEmpty());
}

TEST(Binding, ThisProcessMayRunSomewhere) {
  const Cores own = own_cores("");
  ASSERT_FALSE(own.allowed.empty());
  EXPECT_EQ(own.core.size(), own.allowed.size());
  EXPECT_FALSE(own.host.empty());
}

}  // namespace
}  // namespace sennit::bench::mpi
