#include "device/fault.h"

#include <gtest/gtest.h>

namespace sennit::device {
namespace {

TEST(Fault, IsSilentUntilRaised) {
  Fault fault{};
  EXPECT_TRUE(describe(fault).ok());
  fault.raised = 2;  // being written
  EXPECT_TRUE(describe(fault).ok());
}

TEST(Fault, NamesEverythingABlockKnew) {
  const Fault fault{1, 0, 4, 2, 9, 8, 31, 0};
  const Status status = describe(fault);
  EXPECT_EQ(status.code(), Code::timed_out);
  for (const char* part : {"operation 31", "block 4", "wait 2", "expected count 9", "saw 8", "SENNIT_TIMEOUT"})
    EXPECT_NE(status.text().find(part), std::string::npos) << part;
  EXPECT_EQ(status.text().find("for rank"), std::string::npos);
  const Fault of_a_peer{1, 0, 4, 2, 9, 8, 31, 7};
  EXPECT_NE(describe(of_a_peer).text().find("its limit for rank 6"), std::string::npos);
  const Fault aborted{1, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(describe(aborted).code(), Code::aborted);
}

}  // namespace
}  // namespace sennit::device
