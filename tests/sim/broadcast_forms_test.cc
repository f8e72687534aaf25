// The closed forms of broadcasts and the simulator say the same where nothing else is in the way: a GPU, a host and a
// NIC a node, links of their own.
#include "sim/broadcast_forms.h"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "sim/broadcast_rounds.h"

namespace sennit::sim {
namespace {

constexpr double kGpu = 20, kHost = 12.5, kCopy = 8;

/// One GPU, one host and one NIC, each joined to the others.
machine::Machine one_gpu() {
  machine::Machine machine;
  machine.name = "one";
  for (const auto& [id, kind] : {std::pair("gpu0", machine::DeviceKind::gpu),
                                 {"host0", machine::DeviceKind::host},
                                 {"nic0", machine::DeviceKind::nic}}) {
    machine.devices.emplace_back();
    machine.devices.back().id = id;
    machine.devices.back().kind = kind;
  }
  for (const auto& [from, to, gbps] :
       {std::tuple("gpu0", "host0", kCopy), {"gpu0", "nic0", kGpu}, {"host0", "nic0", kHost}}) {
    machine.links.emplace_back();
    machine.links.back().from = from;
    machine.links.back().to = to;
    machine.links.back().forward_gbps.value = machine.links.back().backward_gbps.value = gbps;
  }
  return machine;
}

double played(const Fabric& fabric, const std::vector<Rounds>& jobs, int chunks, const MessageCosts& costs) {
  const auto result = play(unroll(jobs, chunks, places_of(fabric, fabric.nodes()), costs, fabric), fabric);
  EXPECT_TRUE(result.ok()) << result.status().text();
  return result.ok() ? result->us : 0;
}

/// Rounds of a tree begin when their senders can, which pipelines of chunks do not keep: there the equation is near.
TEST(BroadcastForms, AreWhatTheSimulatorSaysOverAGrid) {
  const machine::Machine machine = one_gpu();
  int compared = 0;
  for (const int n : {2, 3, 4, 7, 8, 16, 33})
    for (const double bytes : {4e3, 1e6, 64e6})
      for (const int chunks : {1, 2, 16})
        for (const MessageCosts& costs :
             {MessageCosts{.message_us = 0, .network_us = 0}, MessageCosts{.message_us = 3, .network_us = 14}}) {
          const auto fabric = Fabric::create(machine, n, 1000);
          ASSERT_TRUE(fabric.ok());
          Ranks ranks = all_ranks(*fabric);
          EXPECT_TRUE(ranks.hosts && ranks.network);
          ranks.k = n % 3 + 2;
          const auto model = broadcast_model(*fabric, ranks, costs, bytes / chunks);
          EXPECT_DOUBLE_EQ(model.model.gpu_gbps, kGpu);
          for (const MessageAlgorithm& algorithm : message_algorithms()) {
            if (algorithm.operation != coll::Operation::broadcast) continue;
            const auto form = broadcast_form(algorithm.name, model, ranks, bytes);
            if (!form) continue;
            const bool tree = algorithm.name.starts_with("tree") || algorithm.name.starts_with("knomial");
            if (tree && chunks > 1) continue;
            const double us = played(*fabric, {algorithm.rounds(ranks, bytes / chunks)}, chunks, costs);
            EXPECT_NEAR(us, *form, 1e-6 * us) << algorithm.name << ", " << n << " ranks, " << bytes << " bytes in "
                                              << chunks << " chunks, k = " << ranks.k;
            ++compared;
          }
        }
  EXPECT_GT(compared, 500);
}

TEST(BroadcastForms, OfTreesInChunksAreNear) {
  const machine::Machine machine = one_gpu();
  const MessageCosts costs{.message_us = 3, .network_us = 14};
  for (const int n : {4, 16, 64})
    for (const int k : {2, 4, 8}) {
      const auto fabric = Fabric::create(machine, n, 1000);
      ASSERT_TRUE(fabric.ok());
      Ranks ranks = all_ranks(*fabric);
      ranks.k = k;
      const double bytes = 64e6;
      const auto model = broadcast_model(*fabric, ranks, costs, bytes / 32);
      for (const std::string_view name : {"knomial", "knomial_staged"}) {
        const Rounds rounds = message_algorithm(coll::Operation::broadcast, name)->rounds(ranks, bytes / 32);
        const double us = played(*fabric, {rounds}, 32, costs);
        EXPECT_NEAR(us / *broadcast_form(name, model, ranks, bytes), 1, 0.25) << name << " of " << n << ", k = " << k;
      }
    }
}

TEST(BroadcastForms, AreOfNoAlgorithmThatIsUnknown) {
  const machine::Machine machine = one_gpu();
  const auto fabric = Fabric::create(machine, 4, 1000);
  ASSERT_TRUE(fabric.ok());
  const Ranks ranks = all_ranks(*fabric);
  EXPECT_FALSE(broadcast_form("scatter_allgather", broadcast_model(*fabric, ranks, {}, 1e6), ranks, 1e6));
}

/// From all sources every rank receives from all others: its link is busy for as long.
TEST(Broadcasts, OfAllSourcesFillEveryReceiversLink) {
  const machine::Machine machine = one_gpu();
  const auto fabric = Fabric::create(machine, 8, 1000);
  ASSERT_TRUE(fabric.ok());
  MessageCosts costs{.message_us = 0, .network_us = 0};
  costs.multicast_a = 1e9;
  Ranks ranks = all_ranks(*fabric);
  const double bytes = 32e6;
  std::vector<Rounds> jobs;
  for (; ranks.root < 8; ++ranks.root) jobs.push_back(broadcast_multicast(ranks, bytes));
  const double us = played(*fabric, jobs, 1, costs);
  EXPECT_NEAR(us, 7 * bytes / (kGpu * 1e3), 0.01 * us);
  EXPECT_NEAR(played(*fabric, {jobs.front()}, 1, costs), bytes / (kGpu * 1e3), 1) << "alone";
}

/// What a NIC reads of a GPU it reads for one message after the other, at its own rate.
TEST(Broadcasts, AreHeldUpByACardThatReadsSlowly) {
  const machine::Machine machine = one_gpu();
  const auto fabric = Fabric::create(machine, 5, 1000);
  ASSERT_TRUE(fabric.ok());
  MessageCosts costs{.message_us = 0, .network_us = 0};
  costs.gpu_read_gbps = 1;
  const Ranks ranks = all_ranks(*fabric);
  EXPECT_NEAR(played(*fabric, {broadcast_linear(ranks, 1e6)}, 1, costs), 4000, 1e-6);
  EXPECT_LT(played(*fabric, {broadcast_linear_staged(ranks, 1e6)}, 1, costs), 4 * 80 + 125 + 125 + 1);
}

/// Two GPUs on each of two NICs: a leader of each NIC receives, the one beside it reads there.
TEST(Broadcasts, ByMulticastComeToOneGpuOfEachNic) {
  Ranks ranks{12, 4, 5};
  ranks.leaders = {0, 0, 2, 2};
  const Rounds rounds = broadcast_multicast(ranks, 1e6);
  ASSERT_EQ(rounds.size(), 2u);
  std::vector<int> cast, near, further;
  for (const Message& each : rounds[0].messages) {
    EXPECT_EQ(each.from, 5);
    (each.multicast ? cast : near).push_back(each.to);
  }
  for (const Message& each : rounds[1].messages) further.push_back(each.to);
  EXPECT_EQ(cast, (std::vector{0, 2, 8, 10}));
  EXPECT_EQ(near, (std::vector{4, 6}));
  EXPECT_EQ(further, (std::vector{1, 3, 7, 9, 11}));
  EXPECT_EQ(count_messages(rounds), 1u + 2 + 5) << "a multicast is one message";
}

TEST(Broadcasts, ByMulticastToManyTakeNoLongerForTheirNumber) {
  machine::Machine machine = one_gpu();
  const auto fabric = Fabric::create(machine, 20000, 1000);
  ASSERT_TRUE(fabric.ok());
  const Ranks ranks = all_ranks(*fabric);
  const MessageCosts costs{.message_us = 0, .network_us = 0};
  const double us = played(*fabric, {broadcast_multicast_streaming(ranks, 1e6 / 4)}, 4, costs);
  EXPECT_NEAR(us, *broadcast_form("multicast_streaming", broadcast_model(*fabric, ranks, costs, 1e6 / 4), ranks, 1e6),
              1e-6 * us);
}

}  // namespace
}  // namespace sennit::sim
