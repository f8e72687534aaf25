#include "doctor/check.h"

#include <gtest/gtest.h>

namespace sennit::doctor {
namespace {

TEST(Check, LacksOnlyWhatIsNeededAndMissing) {
  const Subject needed{"driver", "CUDA driver", true}, extra{"mpi", "MPI", false};
  EXPECT_FALSE(lacking({}));
  EXPECT_FALSE(lacking({works(needed, "fine"), missing(extra, "none", "install it")}));
  EXPECT_FALSE(lacking({degraded(needed, "slow", "mend it")}));
  EXPECT_TRUE(lacking({works(extra, "fine"), missing(needed, "none", "install it")}));
}

TEST(Check, NeverNeedsWhatDoesNotApply) {
  EXPECT_FALSE(not_applicable({"driver", "CUDA driver", true}, "no GPU").needed);
}

TEST(Check, BecomesADocument) {
  const Json made =
      document({missing({"nccl", "NCCL", false}, "not found", "pip install it")}, "2026-11-21T10:00:00Z", "node7");
  EXPECT_EQ(made, Json::parse(R"({"version": 1, "date": "2026-11-21T10:00:00Z", "host": "node7", "checks": [
    {"id": "nccl", "title": "NCCL", "state": "missing", "needed": false, "detail": "not found",
     "fix": "pip install it"}]})"));
}

TEST(Check, NamesStatesAsDocumentsDo) {
  EXPECT_EQ(name(State::works), "works");
  EXPECT_EQ(name(State::degraded), "degraded");
  EXPECT_EQ(name(State::missing), "missing");
  EXPECT_EQ(name(State::not_applicable), "not_applicable");
}

TEST(Counted, SaysOneAndMany) {
  EXPECT_EQ(counted(1, "GPU"), "1 GPU");
  EXPECT_EQ(counted(4, "GPU"), "4 GPUs");
}

}  // namespace
}  // namespace sennit::doctor
