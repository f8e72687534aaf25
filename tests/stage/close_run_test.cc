#include "stage/close_run.h"

#include <gtest/gtest.h>

namespace sennit::stage {
namespace {

using std::chrono::microseconds;

/// Copies one behind the other, so far apart; how many begin before it is time, at most `most`.
int until_due(CloseRun& run, CloseRun::Time& now, microseconds apart, int most) {
  for (int i = 1; i <= most; ++i, now += apart)
    if (run.next(now)) return i;
  return most + 1;
}

TEST(CloseRun, IsDueAfterSomeCopiesCloseToEachOther) {
  CloseRun run;
  CloseRun::Time now{std::chrono::hours(1)};
  EXPECT_EQ(until_due(run, now, CloseRun::kClose, 100), int(CloseRun::kLeast));
}

TEST(CloseRun, IsNeverDueForCopiesFarApart) {
  CloseRun run;
  CloseRun::Time now{std::chrono::hours(1)};
  EXPECT_EQ(until_due(run, now, CloseRun::kClose + microseconds(1), 1000), 1001);
}

TEST(CloseRun, WantsMoreAfterLaunchesThatDidNotPay) {
  CloseRun run;
  CloseRun::Time now{std::chrono::hours(1)};
  int needed = int(CloseRun::kLeast);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(until_due(run, now, microseconds(10), 1000), needed);
    run.gone(CloseRun::kLeast - 1, false);
    needed *= 2;
  }
  run.gone(CloseRun::kLeast, false);
  EXPECT_EQ(until_due(run, now, microseconds(10), 1000), int(CloseRun::kLeast));
}

TEST(CloseRun, NeverWantsMoreThanItsLimit) {
  CloseRun run;
  CloseRun::Time now{std::chrono::hours(1)};
  for (int i = 0; i < 50; ++i) run.gone(0, false);
  EXPECT_EQ(until_due(run, now, microseconds(10), 10000), int(CloseRun::kMost));
}

TEST(CloseRun, HardlyEverTriesAgainWhereOneCopyWasLate) {
  CloseRun run;
  CloseRun::Time now{std::chrono::hours(1)};
  run.gone(100, true);
  EXPECT_EQ(until_due(run, now, microseconds(10), 10000), int(CloseRun::kAfterLate));
}

}  // namespace
}  // namespace sennit::stage
