#include "bench/tune/retarget.h"

#include <gtest/gtest.h>

#include "machine/document.h"

namespace sennit::bench::tune {
namespace {

const std::vector<std::string> kGpus{"gpu0", "gpu1", "gpu2", "gpu3"};

TEST(Retarget, RenamesRelaysToTheGpusThatAreFree) {
  const path::TunedPut entry{
      "host0",
      "gpu0",
      false,
      1 << 20,
      {{"direct", 0.4}, {"gpu1 (engine)", 0.2}, {"gpu2 (engine)", 0.2}, {"gpu3 (engine)", 0.2}},
      10,
      1,
      20};
  const auto moved = retarget(entry, "host0", "gpu2", kGpus);
  EXPECT_EQ(moved.to, "gpu2");
  EXPECT_EQ(moved.shares[0].first, "direct");
  EXPECT_EQ(moved.shares[1].first, "gpu0 (engine)");
  EXPECT_EQ(moved.shares[2].first, "gpu1 (engine)");
  EXPECT_EQ(moved.shares[3].first, "gpu3 (engine)");
}

TEST(Retarget, LeavesHostRoutesAlone) {
  const path::TunedPut entry{"gpu0", "gpu1", true, 1 << 20, {{"direct", 0.9}, {"host0 (sm)", 0.1}}, 10, 1, 20};
  EXPECT_EQ(retarget(entry, "gpu3", "gpu2", kGpus).shares, entry.shares);
}

TEST(Alike, FollowsTheLinks) {
  const auto machine = machine::load("hgx-h200-4");
  ASSERT_TRUE(machine.ok());
  EXPECT_TRUE(alike(*machine, "gpu0", "gpu1", "gpu3", "gpu2"));
  EXPECT_FALSE(alike(*machine, "gpu0", "gpu1", "host0", "gpu2"));
  const auto mist = machine::load("mist");
  ASSERT_TRUE(mist.ok());
  EXPECT_FALSE(alike(*mist, "gpu0", "gpu1", "gpu0", "gpu2")) << "across sockets is another way";
}

}  // namespace
}  // namespace sennit::bench::tune
