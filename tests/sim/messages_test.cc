// Messages on a fabric, against closed forms.
#include "sim/messages.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "machine/known.h"
#include "places.h"

namespace sennit::sim {
namespace {

using coll::Operation;

/// GPUs joined by one switch; a NIC each on request.
machine::Machine star(int gpus, double gbps, double nic_gbps = 0) {
  machine::Machine machine;
  machine.name = "star";
  const auto add = [&](const std::string& id, machine::DeviceKind kind) {
    machine.devices.emplace_back();
    machine.devices.back().id = id;
    machine.devices.back().kind = kind;
  };
  const auto join = [&](const std::string& from, const std::string& to, double rate) {
    machine.links.emplace_back();
    machine.links.back().from = from;
    machine.links.back().to = to;
    machine.links.back().forward_gbps.value = machine.links.back().backward_gbps.value = rate;
  };
  add("nvswitch0", machine::DeviceKind::nvswitch);
  for (int i = 0; i < gpus; ++i) {
    const std::string gpu = "gpu" + std::to_string(i), nic = "nic" + std::to_string(i);
    add(gpu, machine::DeviceKind::gpu);
    join(gpu, "nvswitch0", gbps);
    if (nic_gbps == 0) continue;
    add(nic, machine::DeviceKind::nic);
    join(gpu, nic, nic_gbps);
  }
  return machine;
}

double took(const machine::Machine& machine, int nodes, Ranks ranks, Operation operation, std::string_view name,
            double bytes, MessageCosts costs, int chunks = 1) {
  const auto fabric = Fabric::create(machine, nodes, 1000);
  EXPECT_TRUE(fabric.ok());
  const Rounds rounds = message_algorithm(operation, name)->rounds(ranks, bytes / chunks);
  const auto played = play(unroll(rounds, chunks, places_of(*fabric, ranks.all), costs, *fabric), *fabric);
  EXPECT_TRUE(played.ok());
  if (!played.ok()) return 0;
  double critical = 0;
  for (const Critical& each : played->critical) critical += each.us;
  EXPECT_NEAR(critical, played->us, 1e-6 * played->us) << "the critical way is as long as the whole";
  if (chunks == 1) {
    const auto folded = fold(rounds, places_of(*fabric, ranks.all), costs, *fabric);
    EXPECT_TRUE(folded.ok());
    // In trees ranks run ahead of others: there it is an upper bound.
    const bool keeps_step = name.find("tree") == std::string_view::npos || operation == Operation::broadcast;
    EXPECT_GE(folded->us, played->us * (1 - 1e-6)) << name << " folded";
    EXPECT_LE(folded->us, played->us * (keeps_step ? 1 + 1e-6 : 1.25)) << name << " folded";
  }
  return played->us;
}

/// α-β-γ, as docs/tune/cost-models.md has them.
TEST(Messages, TakeWhatTheClosedFormsSay) {
  const machine::Machine machine = star(8, 100);
  const MessageCosts costs{.message_us = 5, .network_us = 0, .reduce_us = 2, .reduce_gbps = 400};
  const double m = 8 << 20, alpha = 5, beta = 1 / 100e3, gamma = 1 / 400e3, step = 2;
  const Ranks ranks{8, 8, 0};
  const auto expect = [&](Operation operation, std::string_view name, double us, double bytes) {
    EXPECT_NEAR(took(machine, 1, ranks, operation, name, bytes, costs), us, 1e-6 * us) << name;
  };
  expect(Operation::allreduce, "ring", 14 * (alpha + m / 8 * beta) + 7 * (step + m / 8 * gamma), m);
  expect(Operation::allreduce, "two_shot", 14 * (alpha + m / 8 * beta) + 7 * (step + m / 8 * gamma), m);
  expect(Operation::allreduce, "recursive_doubling", 3 * (alpha + step + m * (beta + gamma)), m);
  expect(Operation::allreduce, "reduce_scatter_allgather", 6 * alpha + 3 * step + 7 / 8.0 * m * (2 * beta + gamma),
         m);
  expect(Operation::broadcast, "tree", 3 * (alpha + m * beta), m);
  expect(Operation::broadcast, "chain", 7 * (alpha + m * beta), m);
  expect(Operation::all_to_all, "direct", 7 * (alpha + m * beta), m);
  // Seven messages share the root's link, and then come its sums.
  expect(Operation::reduce, "linear", alpha + 7 * m * beta + 7 * (step + m * gamma), m);
}

TEST(Messages, InChunksFollowEachOtherThroughTheRounds) {
  const machine::Machine machine = star(8, 100);
  const MessageCosts costs{.message_us = 5};
  const double m = 8 << 20, beta = 1 / 100e3;
  // A chain in k chunks: (n - 1 + k - 1)(α + m / k β).
  for (const int chunks : {2, 8, 32}) {
    const double us = (7 + chunks - 1) * (5 + m / chunks * beta);
    EXPECT_NEAR(took(machine, 1, {8, 8, 0}, Operation::broadcast, "chain", m, costs, chunks), us, 1e-6 * us);
  }
}

TEST(Messages, BetweenNodesGoByTheNearestNics) {
  const machine::Machine machine = star(4, 400, 25);
  const MessageCosts costs{.message_us = 1, .network_us = 10};
  const double m = 64 << 20;
  const double ring = took(machine, 4, {16, 4, 0}, Operation::allreduce, "ring", m, costs);
  EXPECT_NEAR(ring, 30 * (10 + m / 16 / 25e3), 1e-6 * ring) << "a link between nodes in every round";
  const double nodes = took(machine, 4, {16, 4, 0}, Operation::allreduce, "multilane", m, costs);
  EXPECT_NEAR(nodes, 6 * (1 + m / 4 / 400e3) + 6 * (10 + m / 16 / 25e3), 1e-6 * nodes) << "all NICs at once";
  const double one = took(machine, 4, {16, 4, 0}, Operation::allreduce, "hierarchical", m, costs);
  EXPECT_GT(one, 2.5 * nodes) << "one NIC of a node for all";
}

TEST(Messages, TakeSocketsForNodesWhereThereIsOneNode) {
  const auto of = [](const char* name, int nodes) {
    const machine::Machine machine =
        machine::known_machine(places::source("machines/" + std::string(name) + ".json"), "").value().machine;
    const auto fabric = Fabric::create(machine, nodes, 1000);
    return all_ranks(*fabric).a_node;
  };
  EXPECT_EQ(of("mist", 1), 2);
  EXPECT_EQ(of("mist", 2), 4);
  EXPECT_EQ(of("helios", 1), 8);
  EXPECT_EQ(of("beluga", 1), 4) << "all on one socket";
}

TEST(Messages, NeedNicsBetweenNodes) {
  const machine::Machine machine = star(4, 400);
  const auto fabric = Fabric::create(machine, 2, 1000);
  ASSERT_FALSE(fabric.ok());
  EXPECT_EQ(fabric.status().code(), Code::invalid_argument);
  EXPECT_NE(fabric.status().what().find("gpu0 of 'star' reaches no NIC"), std::string::npos)
      << fabric.status().what();
}

/// The largest that both can do in a test.
TEST(Messages, OfAThousandRanksFoldToWhatAllOfThemTake) {
  const machine::Machine machine = star(8, 400, 50);
  for (const char* name : {"multilane", "recursive_doubling", "reduce_scatter_allgather"})
    took(machine, 128, {1024, 8, 0}, Operation::allreduce, name, 64 << 20, {});
}

TEST(Messages, OfManyNodesFoldToWhatAllOfThemTake) {
  const machine::Machine machine = star(8, 400, 50);
  for (const MessageAlgorithm& algorithm : message_algorithms()) {
    const Ranks ranks{64, 8, 0};
    if (!algorithm.admits(ranks)) continue;
    took(machine, 8, ranks, algorithm.operation, algorithm.name, 1 << 20, {});
  }
}

}  // namespace
}  // namespace sennit::sim
