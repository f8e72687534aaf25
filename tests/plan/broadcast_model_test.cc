// The equations, against numbers worked out by hand.
#include "plan/broadcast_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sennit::plan {
namespace {

/// Round numbers: 1 MB in chunks of 100 kB and packets of 1 kB; 1, 10 and 5 kB/µs.
BroadcastModel model() {
  BroadcastModel made;
  made.start_us = 2;
  made.chunk_bytes = 100e3;
  made.mtu_bytes = 1e3;
  made.gpu_gbps = 1;
  made.host_gbps = 10;
  made.device_to_host_gbps = 5;
  made.multicast_a = 20;
  return made;
}

TEST(BroadcastModel, IsThePapersEquations) {
  const BroadcastModel m = model();
  EXPECT_DOUBLE_EQ(m.ring_gdr(5, 1e6), 4 * (2 + 1000));
  EXPECT_DOUBLE_EQ(m.ring_gdr_pipeline(5, 1e6), (10 + 3) * (2 + 100));
  EXPECT_DOUBLE_EQ(m.ring_staging(5, 1e6), 200 + 4 * (2 + 100));
  EXPECT_DOUBLE_EQ(m.knomial_gdr(2, 5, 1e6), 3 * (2 + 1000));
  EXPECT_DOUBLE_EQ(m.knomial_gdr(4, 16, 1e6), 2 * (2 + 1000)) << "a whole number of steps, whatever logarithms say";
  EXPECT_DOUBLE_EQ(m.knomial_staging(2, 8, 1e6), 200 + 3 * (2 + 100));
  EXPECT_DOUBLE_EQ(m.knomial_gdr_pipeline(2, 8, 1e6), 10 * 3 * (2 + 100));
  const double overhead = std::log(16) / 20;
  EXPECT_DOUBLE_EQ(m.multicast_overhead_us(16), overhead);
  EXPECT_DOUBLE_EQ(m.multicast_overhead_us(1), 0);
  EXPECT_DOUBLE_EQ(m.multicast_gdr(16, 1e6), 1000 * (2 + overhead + 1));
  EXPECT_DOUBLE_EQ(m.multicast_staging_pipeline(16, 1e6), 20 + 1000 * (2 + overhead + 0.1));
  EXPECT_DOUBLE_EQ(several_sources(100, 8, 0.25), 600);
  EXPECT_DOUBLE_EQ(overlap(100, 600, 8), 0.25) << "equation 11 undoes equation 9";
}

TEST(BroadcastModel, OfASenderOfSeveralChildrenCountsEachMessage) {
  EXPECT_EQ(knomial_sends(2, 16), 4);
  EXPECT_EQ(knomial_sends(4, 16), 6);
  EXPECT_EQ(knomial_sends(4, 5), 4) << "one in the first round, three in the second";
  EXPECT_EQ(knomial_sends(16, 16), 15);
  EXPECT_EQ(knomial_sends(8, 2), 1);
}

/// What the equations leave out, by hand; without it both are the same.
TEST(CorrectedBroadcast, AddsWhatTheEquationsLeaveOut) {
  CorrectedBroadcast c;
  c.model = model();
  c.model.chunk_bytes = 1e6;
  c.receive_gbps = 1e9;
  c.host_to_device_gbps = 4;
  EXPECT_DOUBLE_EQ(c.ring(5, 1e6), c.model.ring_gdr(5, 1e6));
  EXPECT_DOUBLE_EQ(c.knomial(2, 16, 1e6), c.model.knomial_gdr(2, 16, 1e6)) << "a child a round";
  EXPECT_DOUBLE_EQ(c.knomial(4, 16, 1e6), 2 * 2 + 6 * 1000);
  EXPECT_DOUBLE_EQ(c.ring_staging(5, 1e6), c.model.ring_staging(5, 1e6) + 250) << "up to the GPU";
  EXPECT_DOUBLE_EQ(c.knomial_staging(2, 8, 1e6), c.model.knomial_staging(2, 8, 1e6) + 250);
  EXPECT_DOUBLE_EQ(c.linear(5, 1e6), 2 + 4 * 1000);
  c.model.chunk_bytes = 100e3;
  EXPECT_DOUBLE_EQ(c.ring(5, 1e6), c.model.ring_gdr_pipeline(5, 1e6));
  c.model.start_us = 0;
  EXPECT_DOUBLE_EQ(c.multicast(16, 1e6), c.model.multicast_gdr(16, 1e6));
  EXPECT_NEAR(c.multicast_staging(16, 1e6), c.model.multicast_staging_pipeline(16, 1e6), 1e-9);
  c.receive_gbps = 0.5;
  EXPECT_NEAR(c.multicast(16, 1e6), 1000 * (std::log(16) / 20 + 2), 1e-9) << "the receivers' links";
  c.receive_gbps = 1e9;
  c.model.device_to_host_gbps = 0.1;
  EXPECT_NEAR(c.multicast_staging(16, 1e6), 10 * 1000 + 100 * (std::log(16) / 20 + 0.1), 1e-9)
      << "copies to the host are the slower part";
}

TEST(CorrectedBroadcast, TellsNearMessagesFromFarOnes) {
  CorrectedBroadcast c;
  c.model = model();
  c.model.chunk_bytes = 1e6;
  c.a_node = 4;
  c.near_us = 1;
  c.near_gbps = 100;
  EXPECT_DOUBLE_EQ(c.ring(8, 1e6), 1002 + 6 * 11) << "one hop between two nodes";
  EXPECT_DOUBLE_EQ(c.knomial(2, 8, 1e6), 1002 + 2 * 11);
  EXPECT_DOUBLE_EQ(c.linear(8, 1e6), 2 + 4 * 1000);
  c.neighbours = 3;
  c.near_gbps = 0.1;
  EXPECT_DOUBLE_EQ(c.multicast(8, 1e6), 1 + 30000) << "the root's neighbours";
}

TEST(BroadcastModel, OfTheMulticastHardlyGrowsWithTheNodes) {
  const BroadcastModel m;
  EXPECT_LT(m.multicast_staging_pipeline(1024, 2e6), 1.6 * m.multicast_staging_pipeline(4, 2e6));
  EXPECT_GT(m.ring_gdr_pipeline(1024, 2e6), 100 * m.ring_gdr_pipeline(4, 2e6));
}

}  // namespace
}  // namespace sennit::plan
