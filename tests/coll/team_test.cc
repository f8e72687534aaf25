#include "coll/team.h"

#include <gtest/gtest.h>

#include <vector>

namespace sennit::coll {
namespace {

TEST(Shape, SharesOfAllSlotsBeginBehindTheSlotsOfTheBlocksBefore) {
  for (const std::uint64_t bytes : {256, 1000, 1030, 5088, 65536, 201'000, 1 << 24})
    for (const unsigned kept : {kMostBlocks, 128U, 37U})
      for (unsigned sharing = 1; sharing <= kept; ++sharing) {
        Shape shape = Shape::of_block(bytes, 4);
        shape.blocks = kept;
        EXPECT_GE(shape.share(sharing), shape.block_bytes);
        EXPECT_LE(sharing * shape.share(sharing), shape.slots_bytes());
        EXPECT_LE(6 * shape.shared_slot(sharing, 3), shape.share(sharing));
        EXPECT_GE(shape.shared_slot(sharing, 3), shape.slot(Layout::direct));
      }
}

TEST(Shape, SharedSlotsDoNotOverlap) {
  Team team;
  team.size = 4;
  team.shape = Shape::of_block(5088, team.size);
  std::vector<std::byte> scratch(team.shape.bytes());
  team.scratch[2] = scratch.data();
  for (const unsigned sharing : {1U, 3U, 32U, kMostBlocks}) {
    const std::uint64_t room = team.shape.shared_slot(sharing, team.peers());
    const std::byte* last = team.slots(2);  // the end of the slot before
    for (unsigned block = 0; block < sharing; ++block)
      for (const int from : {0, 1, 3})
        for (const device::Word number : {6U, 7U}) {
          const std::byte* const slot = team.shared_slot(2, from, block, sharing, number);
          EXPECT_GE(slot, last);
          last = slot + room;
        }
    EXPECT_LE(last, team.slots(2) + team.shape.slots_bytes());
  }
}

}  // namespace
}  // namespace sennit::coll
