// The α-β-γ model and the simulator say the same where both hold: links of equal rates, ranks that keep step.
#include "plan/closed_forms.h"

#include <gtest/gtest.h>

#include "sim/messages.h"

namespace sennit::sim {
namespace {

machine::Machine crossbar(int gpus, double gbps) {
  machine::Machine machine;
  machine.devices.emplace_back();
  machine.devices.back().id = "nvswitch0";
  machine.devices.back().kind = machine::DeviceKind::nvswitch;
  for (int i = 0; i < gpus; ++i) {
    machine.devices.emplace_back();
    machine.devices.back().id = "gpu" + std::to_string(i);
    machine.links.emplace_back();
    machine.links.back().from = machine.devices.back().id;
    machine.links.back().to = "nvswitch0";
    machine.links.back().forward_gbps.value = machine.links.back().backward_gbps.value = gbps;
  }
  return machine;
}

TEST(ClosedForms, AreWhatTheSimulatorSaysOverAGrid) {
  int compared = 0;
  for (const int n : {2, 3, 4, 7, 8, 16})
    for (const double bytes : {1e3, 1e6, 1e9})
      for (const MessageCosts& costs : {MessageCosts{5, 0, 0, 0}, MessageCosts{2, 0, 3, 250}}) {
        const machine::Machine machine = crossbar(n, 50);
        const auto fabric = Fabric::create(machine, 1, 1000);
        ASSERT_TRUE(fabric.ok());
        const Ranks ranks{n, n, 0};
        for (const MessageAlgorithm& algorithm : message_algorithms()) {
          const auto terms = plan::closed_form(algorithm.operation, algorithm.name, n, bytes);
          if (!terms || !algorithm.admits(ranks)) continue;
          const auto played =
              play(unroll(algorithm.rounds(ranks, bytes), 1, places_of(*fabric, n), costs, *fabric), *fabric);
          ASSERT_TRUE(played.ok());
          const double us = plan::AlphaBetaGamma{costs.message_us, 50, costs.reduce_us, costs.reduce_gbps}.us(*terms);
          EXPECT_NEAR(played->us, us, 1e-6 * us)
              << coll::name(algorithm.operation) << " by " << algorithm.name << ", " << n << " ranks, " << bytes;
          ++compared;
        }
      }
  EXPECT_GT(compared, 500);
}

TEST(ClosedForms, AreOfNoAlgorithmThatIsUnknown) {
  EXPECT_FALSE(plan::closed_form(coll::Operation::allreduce, "hierarchical", 8, 1e6));
  EXPECT_FALSE(plan::closed_form(coll::Operation::barrier, "ring", 8, 1e6));
}

}  // namespace
}  // namespace sennit::sim
