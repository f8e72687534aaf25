#include "shim/nccl/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::shim::nccl {
namespace {

plan::Entry measured(coll::Operation operation, double nccl_us, const std::string& nccl) {
  plan::Entry entry;
  entry.which.operation = operation;
  entry.nccl_us = nccl_us;
  entry.nccl = nccl;
  return entry;
}

std::string reason(const std::vector<plan::Entry>& entries, Switches switches = {}) {
  switches.nccl = "2.28.9";
  plan::Table table;
  table.entries = entries;
  return reason_against(table, switches).value_or("");
}

TEST(ReasonAgainst, IsThatNothingWasMeasuredBesideThisNccl) {
  EXPECT_EQ(reason({}), kNoPlan);
  EXPECT_EQ(reason({measured(coll::Operation::allreduce, 0, "2.28.9")}), kNoPlan) << "NCCL was not timed";
  EXPECT_THAT(reason({measured(coll::Operation::allreduce, 9, "2.27.3")}),
              testing::StartsWith("2.27.3 was measured here, this is 2.28.9"));
  EXPECT_EQ(
      reason({measured(coll::Operation::allreduce, 9, "2.27.3"), measured(coll::Operation::allreduce, 9, "2.28.9")}),
      "");
}

TEST(ReasonAgainst, IsThatSwitchesNameOtherOperations) {
  Switches switches;
  switches.operations = {"bcast"};
  EXPECT_EQ(reason({measured(coll::Operation::allreduce, 9, "2.28.9")}, switches),
            "no plan was measured here for what SENNIT_OPS names");
  EXPECT_EQ(reason({measured(coll::Operation::broadcast, 9, "2.28.9")}, switches), "");
}

}  // namespace
}  // namespace sennit::shim::nccl
