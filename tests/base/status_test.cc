#include "base/status.h"

#include <gtest/gtest.h>

namespace sennit {
namespace {

TEST(Status, IsOkByDefaultAndSaysSo) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().text(), "ok");
}

TEST(Status, TellsWhatWhereAndWhatToDo) {
  const Status status = Status(Code::timed_out, "no answer", "slot 3", "Restart rank 2").in("put to rank 2");
  EXPECT_EQ(status.text(), "timed_out: no answer (put to rank 2: slot 3). Restart rank 2");
}

TEST(Result, HoldsAValueOrAStatus) {
  const Result<int> seven = 7;
  EXPECT_EQ(*seven, 7);
  EXPECT_TRUE(seven.status().ok());
  const Result<int> none = Status(Code::not_found, "nothing here");
  EXPECT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::not_found);
}

}  // namespace
}  // namespace sennit
