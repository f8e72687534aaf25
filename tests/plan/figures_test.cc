#include "plan/figures.h"

#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::plan {
namespace {

TEST(Figures, AreTheDefaultsWhereTheyWereMeasured) {
  const coll::Figures figures = figures_of(measured_machine(), {"gpu0", "gpu1"});
  EXPECT_NEAR(figures.link_gbps, coll::Figures().link_gbps, 0.1 * coll::Figures().link_gbps);
  EXPECT_EQ(figures.crossing_us, coll::Figures().crossing_us);
}

TEST(Figures, FollowTheSlowestPair) {
  const machine::Machine mist = path::mist();
  const double near = figures_of(mist, {"gpu0", "gpu1"}).link_gbps;
  const double far = figures_of(mist, {"gpu0", "gpu1", "gpu2"}).link_gbps;
  EXPECT_LT(far, near);
  EXPECT_LT(near, 0.5 * coll::Figures().link_gbps);
  // Loads stay slower than stores.
  const coll::Figures figures = figures_of(mist, {"gpu0", "gpu1"});
  EXPECT_NEAR(figures.pull_gbps / figures.link_gbps, coll::Figures().pull_gbps / coll::Figures().link_gbps, 1e-9);
}

TEST(Figures, AreTheDefaultsWhereNothingIsKnown) {
  EXPECT_EQ(figures_of(machine::Machine(), {"gpu0", "gpu1"}), coll::Figures());
}

TEST(Figures, WhatLinksCarryIsWhatWasMeasuredWhileAllExchanged) {
  machine::Machine machine = measured_machine();
  machine.curves.clear();
  const auto add = [&](const char* from, const char* to, machine::Traffic traffic, double us) {
    machine.curves.push_back({from, to, machine::Method::engine, traffic, {{1000, 10, 0, 5}, {1000000, us, 0, 5}}});
  };
  EXPECT_EQ(exchange_gbps(machine, {"gpu0", "gpu1"}), 0) << "nobody measured it";
  add("gpu0", "gpu1", machine::Traffic::both_ways, 2.5);
  add("gpu1", "gpu0", machine::Traffic::both_ways, 2.0);
  EXPECT_EQ(exchange_gbps(machine, {"gpu0", "gpu1"}), 400) << "of the slower way";
  for (const char* from : {"gpu0", "gpu1", "gpu2"})
    for (const char* to : {"gpu0", "gpu1", "gpu2"})
      if (from != to) add(from, to, machine::Traffic::all_at_once, 8);
  EXPECT_EQ(exchange_gbps(machine, {"gpu0", "gpu1", "gpu2"}), 375) << "a third of a rank's, on a machine of four";
}

}  // namespace
}  // namespace sennit::plan
