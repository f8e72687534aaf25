// Planned messages over links, against closed forms.
#include "sim/put.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/known.h"
#include "places.h"

namespace sennit::sim {
namespace {

machine::Machine cedar() {
  return machine::known_machine(places::source("machines/cedar.json"), "").value().machine;
}

Put straight(double bytes) {
  Put put;
  put.from = "gpu0";
  put.to = "gpu1";
  put.bytes = bytes;
  put.split = {{"direct", 1}};
  return put;
}

TEST(SimulatedPut, OfOneRouteIsItsStartupAndItsBytes) {
  const machine::Machine machine = cedar();
  const double one = simulate_put(machine, straight(46e6)).value().us,
               two = simulate_put(machine, straight(92e6)).value().us;
  EXPECT_NEAR(two - one, 1000, 1e-6) << "46 GB/s";
  EXPECT_GT(one, 1000);
  EXPECT_LT(one, 1020);
}

TEST(SimulatedPut, OfAWindowPaysTheStartupOnce) {
  const machine::Machine machine = cedar();
  Put put = straight(46e6);
  const double one = simulate_put(machine, put).value().us;
  put.window = 10;
  const double all = simulate_put(machine, put).value().us;
  EXPECT_NEAR(all, one + 9 * (1000 + put.costs.issue_us), 1);
}

TEST(SimulatedPut, BySeveralRoutesTakesAsLongAsTheSlowest) {
  const machine::Machine machine = cedar();
  Put put = straight(460e6);
  put.split = {{"direct", 0.8}, {"host0 (engine)", 0.2}};
  const auto both = simulate_put(machine, put);
  ASSERT_TRUE(both.ok()) << both.status().text();
  EXPECT_LT(both->us, simulate_put(machine, straight(460e6)).value().us);
  EXPECT_GT(both->us, 0.8 * 10000) << "the direct part alone";
  double host = 0;
  for (const Load& load : both->loads)
    if (load.resource == "gpu0>host0") host = load.bytes;
  EXPECT_NEAR(host, 92e6, 1) << "every byte of the share, once";
}

TEST(SimulatedPut, BothWaysMeetWhereLinksAreOne) {
  machine::Machine machine = cedar();
  Put put = straight(46e6);
  const double one = simulate_put(machine, put).value().us;
  put.both_ways = true;
  EXPECT_NEAR(simulate_put(machine, put).value().us, one, 1) << "92 GB/s both ways";
  for (machine::Link& link : machine.links)
    if (link.both_gbps) link.both_gbps->value = 46;
  EXPECT_NEAR(simulate_put(machine, put).value().us, one + 1000, 1);
}

TEST(SimulatedPut, NamesTheRoutesThereAre) {
  Put put = straight(1e6);
  put.split = {{"by pigeon", 1}};
  const auto found = simulate_put(cedar(), put);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), Code::not_found);
  EXPECT_THAT(found.status().remedy(), testing::HasSubstr("direct"));
}

}  // namespace
}  // namespace sennit::sim
