#include "machine/look.h"

#include <gtest/gtest.h>

namespace sennit::machine {
namespace {

const std::vector<GpuExtra> kTwo = {{"0000:01:00.0", 132, 4}, {"0000:02:00.0", 132, 4}};

TEST(Look, IsTakenOnce) {
  int looks = 0;
  Look look([&](const std::vector<GpuExtra>&) -> Result<Machine> {
    Machine machine;
    machine.name = std::to_string(++looks);
    return machine;
  });
  EXPECT_EQ(look.at(kTwo)->name, "1");
  EXPECT_EQ(look.at(kTwo)->name, "1");
  EXPECT_EQ(looks, 1);
}

TEST(Look, IsTakenAgainForOtherGpus) {
  std::vector<std::size_t> counts;
  Look look([&](const std::vector<GpuExtra>& extras) -> Result<Machine> {
    counts.push_back(extras.size());
    return Machine();
  });
  EXPECT_TRUE(look.at(kTwo).ok());
  EXPECT_TRUE(look.at({}).ok());
  EXPECT_TRUE(look.at(kTwo).ok());
  EXPECT_EQ(counts, (std::vector<std::size_t>{2, 0, 2}));
}

TEST(Look, ThatFailedIsTakenAgain) {
  bool asleep = true;
  Look look([&](const std::vector<GpuExtra>&) -> Result<Machine> {
    if (asleep) return Status(Code::unsupported, "no GPU answers");
    return Machine();
  });
  EXPECT_EQ(look.at(kTwo).status().code(), Code::unsupported);
  asleep = false;
  EXPECT_TRUE(look.at(kTwo).ok());
}

}  // namespace
}  // namespace sennit::machine
