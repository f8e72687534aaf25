#include "shim/nccl/comm_phase.h"

#include <gtest/gtest.h>

namespace sennit::shim::nccl {
namespace {

using enum CommPhase;

struct Row {
  CommPhase from;
  CommPhase to[kEvents];  // in the order of CommEvent
  bool made, over, freed;
};

constexpr Row kTable[kPhases] = {
    // from             made         made_nccl_only finalize        revoke          abort            made   over freed
    {making, {ready, nccl_only, making, revoked_unmade, aborted_unmade}, false, false, false},
    {ready, {ready, ready, finalizing, revoked, aborted}, true, false, false},
    {nccl_only, {nccl_only, nccl_only, nccl_only, revoked, aborted}, true, false, false},
    {finalizing, {finalizing, finalizing, finalizing, revoked, aborted}, true, false, false},
    {revoked_unmade, {revoked, revoked, revoked_unmade, revoked_unmade, aborted_unmade}, false, true, false},
    {aborted_unmade, {aborted, aborted, aborted_unmade, aborted_unmade, aborted_unmade}, false, true, true},
    {revoked, {revoked, revoked, revoked, revoked, aborted}, true, true, false},
    {aborted, {aborted, aborted, aborted, aborted, aborted}, true, true, true},
};

TEST(CommPhase, EveryEventLeadsWhereTheTableSays) {
  for (int i = 0; i < kPhases; ++i) {
    const Row& row = kTable[i];
    ASSERT_EQ(row.from, static_cast<CommPhase>(i));
    for (int event = 0; event < kEvents; ++event)
      EXPECT_EQ(next(row.from, static_cast<CommEvent>(event)), row.to[event]) << "phase " << i << ", event " << event;
    EXPECT_EQ(is_made(row.from), row.made) << i;
    EXPECT_EQ(is_over(row.from), row.over) << i;
    EXPECT_EQ(is_freed(row.from), row.freed) << i;
  }
}

TEST(CommPhase, NothingThatIsOverOrMadeIsUndone) {
  for (const Row& row : kTable)
    for (const CommPhase to : row.to) {
      EXPECT_TRUE(is_made(to) || !row.made);
      EXPECT_TRUE(is_over(to) || !row.over);
      EXPECT_TRUE(is_freed(to) || !row.freed);
    }
}

}  // namespace
}  // namespace sennit::shim::nccl
