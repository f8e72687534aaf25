#include "shim/recorder/rooted.h"

#include <gtest/gtest.h>

namespace sennit::shim::recorder {
namespace {

constexpr Sides kBoth{true, true}, kGives{true, false}, kTakes{false, true}, kNothing{false, false};

TEST(Rooted, WhatARankGivesAndTakesDependsOnItsPart) {
  struct Row {
    Rooted kind;
    Sides unknown, root, root_of_others, other, apart;
  };
  constexpr Row kRows[] = {
      {Rooted::none, kBoth, kBoth, kBoth, kBoth, kBoth},
      {Rooted::broadcast, kBoth, kGives, kGives, kTakes, kNothing},
      {Rooted::gathers, kBoth, kBoth, kTakes, kGives, kNothing},
      {Rooted::scatters, kBoth, kBoth, kGives, kTakes, kNothing},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(sides_of(row.kind, Role::unknown), row.unknown);
    EXPECT_EQ(sides_of(row.kind, Role::root), row.root);
    EXPECT_EQ(sides_of(row.kind, Role::root_of_others), row.root_of_others);
    EXPECT_EQ(sides_of(row.kind, Role::other), row.other);
    EXPECT_EQ(sides_of(row.kind, Role::apart), row.apart);
  }
}

TEST(Rooted, FunctionsAreToldByTheirNames) {
  for (const char* const name : {"Bcast", "Ibcast", "Bcast_c", "Broadcast", "BroadcastConfig"})
    EXPECT_EQ(rooted_of(name), Rooted::broadcast) << name;
  for (const char* const name : {"Reduce", "ReduceConfig", "Gather", "Gatherv", "Igatherv_c", "GatherConfig"})
    EXPECT_EQ(rooted_of(name), Rooted::gathers) << name;
  for (const char* const name : {"Scatter", "Scatterv", "ScatterConfig"})
    EXPECT_EQ(rooted_of(name), Rooted::scatters) << name;
  for (const char* const name : {"AllReduce", "ReduceScatter", "ReduceScatterConfig", "AllGather", "Allreduce",
                                 "Reduce_scatter", "Allgatherv", "Send", "AlltoAll", ""})
    EXPECT_EQ(rooted_of(name), Rooted::none) << name;
}

}  // namespace
}  // namespace sennit::shim::recorder
