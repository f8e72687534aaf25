#include "place/symmetry.h"

#include <gtest/gtest.h>

#include "place/made_up.h"

namespace sennit::place {
namespace {

TEST(Symmetry, OfATreeIsThatOfItsBranches) {
  const Problem problem(pattern("ring:16"), 16, tree_costs(16));
  const Symmetry symmetry(problem);
  EXPECT_TRUE(symmetry.alike(0, 15, {}));
  EXPECT_FALSE(symmetry.alike(1, 2, std::vector{0})) << "1 is nearer to 0";
  EXPECT_TRUE(symmetry.alike(2, 3, std::vector{0}));
  EXPECT_TRUE(symmetry.alike(8, 15, std::vector{0, 1, 2}));
  EXPECT_FALSE(symmetry.alike(2, 3, std::vector{0, 2}));
}

TEST(Symmetry, LeavesOfABranchAreTwins) {
  const Symmetry symmetry(Problem(pattern("ring:16"), 16, tree_costs(16)));
  for (int slot = 0; slot < 16; ++slot) EXPECT_EQ(symmetry.twin(slot), slot / 2 * 2);
  Problem pinned(pattern("ring:16"), 16, tree_costs(16));
  ASSERT_TRUE(pinned.pin(std::vector<Pin>{{0, {1}}}).ok());
  EXPECT_EQ(Symmetry(pinned).twin(1), 1) << "a rank may be on one of the two alone";
  EXPECT_EQ(Symmetry(pinned).twin(3), 2);
}

TEST(Symmetry, OfWhatIsIrregularIsNone) {
  Random random(2);
  const Problem problem(pattern("ring:8"), 8, random_costs(8, random));
  const Symmetry symmetry(problem);
  for (int slot = 1; slot < 8; ++slot) EXPECT_FALSE(symmetry.alike(0, slot, {}));
}

/// As a machine's GPUs look alike by hops, and one of the links is slower.
TEST(Symmetry, SeesALinkThatIsSlower) {
  machine::Machine machine = shipped("helios");
  for (const bool slower : {false, true}) {
    if (slower)
      for (machine::Link& link : machine.links)
        if (link.from == "gpu3") link.forward_gbps.value = 6;
    const path::Network network(machine);
    const auto graph = DeviceGraph::create(network).value();
    const auto problem = Problem::create(pattern("ring:16"), graph, {1, 16, 1}, Metric::contention).value();
    const Symmetry symmetry(problem);
    EXPECT_EQ(symmetry.alike(0, 3, {}), !slower);
    EXPECT_EQ(symmetry.twin(1), 0);
    EXPECT_EQ(symmetry.twin(3), slower ? 3 : 2);
    EXPECT_EQ(symmetry.alike(0, 2, {}), !slower) << "2 has gpu3 for a neighbour";
    EXPECT_TRUE(symmetry.alike(4, 15, std::vector{0}) == false && symmetry.alike(8, 15, std::vector{0}));
  }
}

}  // namespace
}  // namespace sennit::place
