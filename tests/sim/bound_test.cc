// What links allow at best, where it is known by hand.
#include "sim/bound.h"

#include <gtest/gtest.h>

#include "machine/known.h"
#include "places.h"
#include "sim/predict.h"

namespace sennit::sim {
namespace {

using coll::Operation;

/// GPUs in a ring of links, or all joined with all.
machine::Machine joined(int gpus, double gbps, bool all) {
  machine::Machine machine;
  machine.name = "made up";
  for (int i = 0; i < gpus; ++i) {
    machine.devices.emplace_back();
    machine.devices.back().id = "gpu" + std::to_string(i);
  }
  for (int i = 0; i < gpus; ++i)
    for (int j = i + 1; j < gpus; ++j) {
      if (!all && j != i + 1 && (i != 0 || j != gpus - 1)) continue;
      machine.links.emplace_back();
      machine.links.back().from = "gpu" + std::to_string(i);
      machine.links.back().to = "gpu" + std::to_string(j);
      machine.links.back().forward_gbps.value = machine.links.back().backward_gbps.value = gbps;
    }
  return machine;
}

double bound(const machine::Machine& machine, Operation operation, double bytes = 1e6) {
  return bound_us(machine, gpus_of(machine), operation, bytes, 0).value_or(-1);
}

TEST(Bound, OfLinksBetweenAllIsWhatLeavesAGpu) {
  const machine::Machine machine = joined(4, 10, true);
  EXPECT_NEAR(bound(machine, Operation::allgather), 3e6 / 30e3, 1e-6);
  EXPECT_NEAR(bound(machine, Operation::reduce_scatter), 3e6 / 30e3, 1e-6);
  EXPECT_NEAR(bound(machine, Operation::allreduce), 2 * 3 / 4.0 * 1e6 / 30e3, 1e-6);
  EXPECT_NEAR(bound(machine, Operation::broadcast), 1e6 / 30e3, 1e-6) << "by way of the others, too";
  EXPECT_NEAR(bound(machine, Operation::scatter), 3e6 / 30e3, 1e-6);
  EXPECT_NEAR(bound(machine, Operation::all_to_all), 3e6 / 30e3, 1e-6);
}

TEST(Bound, OfARingIsItsTwoLinks) {
  const machine::Machine machine = joined(6, 10, false);
  EXPECT_NEAR(bound(machine, Operation::allgather), 5e6 / 20e3, 1e-6);
  EXPECT_NEAR(bound(machine, Operation::reduce), 1e6 / 20e3, 1e-6);
}

/// Two pairs joined by one thin link: what crosses it counts, and no GPU's own links.
TEST(Bound, IsTheNarrowestCut) {
  machine::Machine machine = joined(4, 100, true);
  for (machine::Link& link : machine.links)
    if ((link.from < "gpu2") != (link.to < "gpu2")) link.forward_gbps.value = link.backward_gbps.value = 1;
  // Four thin links, 4 GB/s: two ranks' parts must cross, each way.
  EXPECT_NEAR(bound(machine, Operation::allgather), 2e6 / 4e3, 1e-3);
}

TEST(Bound, IsNeverAboveWhatIsSimulated) {
  for (const char* name : {"mist", "cedar", "hgx-h200-4", "dgx-1v"}) {
    const machine::Machine machine =
        machine::known_machine(places::source("machines/" + std::string(name) + ".json"), "").value().machine;
    Question question;
    question.what.operation = Operation::allreduce;
    question.what.bytes = 16 << 20;
    question.what.in_place = true;
    question.algorithm = coll::Algorithm::two_shot;
    question.blocks = 32;
    const auto found = predict(machine, question);
    ASSERT_TRUE(found.ok()) << found.status().text();
    EXPECT_LT(bound(machine, Operation::allreduce, 16 << 20), found->front().once.us) << name;
  }
}

TEST(Bound, IsUnknownWhereNothingIsJoined) {
  machine::Machine machine = joined(3, 10, true);
  std::erase_if(machine.links, [](const machine::Link& link) { return link.to == "gpu2"; });
  EXPECT_FALSE(bound_us(machine, gpus_of(machine), Operation::allgather, 1e6, 0));
  EXPECT_FALSE(bound_us(machine, gpus_of(machine), Operation::barrier, 0, 0));
}

}  // namespace
}  // namespace sennit::sim
