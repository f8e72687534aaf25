#include "shim/map_check.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::shim {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string judged(const std::vector<GpuOfRank>& ranks) {
  return judge_map(ranks, "gave MPI no GPU memory");
}

TEST(MapCheck, WhereAllIsAsAskedThatIsAllThereIsToSay) {
  EXPECT_EQ(judged({{"GPU-1", "GPU-1"}, {"GPU-0", "GPU-0"}}), "map: 2 of 2 ranks as asked");
}

TEST(MapCheck, ARankThatUsesAnotherGpuIsNamedWithTheRemedy) {
  const std::string said = judged({{"GPU-1", "GPU-0"}, {"GPU-0", "GPU-0"}});
  EXPECT_THAT(said, HasSubstr("map: 1 of 2 ranks as asked; rank 0 uses GPU-0, and the map says GPU-1. The program"));
  EXPECT_THAT(said, HasSubstr("--gpu-per-rank"));
}

TEST(MapCheck, WhoseGpuIsNotKnownDoesNotChooseWrongly) {
  const std::string said = judged({{"GPU-1", ""}, {"", "GPU-0"}});
  EXPECT_EQ(said, "map: 0 of 2 ranks as asked; rank 0 gave MPI no GPU memory; rank 1 is not in the map");
}

TEST(MapCheck, FewRanksAreNamed) {
  const std::string said = judged(std::vector<GpuOfRank>(1000, {"GPU-1", "GPU-0"}));
  EXPECT_THAT(said, HasSubstr("rank 3 uses"));
  EXPECT_THAT(said, Not(HasSubstr("rank 4 uses")));
  EXPECT_THAT(said, HasSubstr("; and 996 more. The"));
}

TEST(MapCheck, TheVariableHasTheGpusByLocalRank) {
  ::setenv("SENNIT_MAP", "GPU-2,,GPU-0", 1);
  EXPECT_EQ(asked_gpus(), (std::vector<std::string>{"GPU-2", "", "GPU-0"}));
  ::unsetenv("SENNIT_MAP");
  EXPECT_TRUE(asked_gpus().empty());
}

}  // namespace
}  // namespace sennit::shim
