#include "plan/lookup.h"

#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::plan {
namespace {

TEST(Lookup, TakesTheNearestSize) {
  const Lookup lookup(small_table(), {"gpu0", "gpu1"}, measured_machine());
  const auto bytes_for = [&](std::uint64_t bytes) {
    return lookup.find(allreduce_of(bytes), team_of(2))->which.bytes;
  };
  EXPECT_EQ(bytes_for(KiB), KiB);
  EXPECT_EQ(bytes_for(MiB * 3 / 4), MiB);
  EXPECT_EQ(bytes_for(MiB * 3 / 2), MiB);
  EXPECT_EQ(bytes_for(MiB * 5 / 2), 4 * MiB);
  EXPECT_EQ(bytes_for(8 * MiB), 4 * MiB);
}

TEST(Lookup, DoesNotGuessFarBeyondWhatWasTuned) {
  const Lookup lookup(small_table(), {"gpu0", "gpu1"}, measured_machine());
  EXPECT_FALSE(lookup.find(allreduce_of(64 * MiB), team_of(2)));
  EXPECT_FALSE(lookup.find({coll::Operation::allreduce, coll::Arithmetic::general, MiB}, team_of(2)));
  EXPECT_FALSE(lookup.find({coll::Operation::allgather, coll::Arithmetic::none, MiB}, team_of(2)));
}

TEST(Lookup, FewBytesTakeWhatTheSmallestSizeDoes) {
  EXPECT_EQ(
      Lookup(small_table(), {"gpu0", "gpu1"}, measured_machine()).find(allreduce_of(8), team_of(2))->which.bytes,
      KiB);
  Table large = empty_table();
  insert(large, entry_of({"gpu0", "gpu1"}, allreduce_of(64 * KiB), {{kTwoShot, 14, 0.1}}));
  EXPECT_FALSE(Lookup(large, {"gpu0", "gpu1"}, measured_machine()).find(allreduce_of(8), team_of(2)))
      << "64 KiB take their time on the links";
}

TEST(Lookup, NeverGivesAPlanThatCannotDoIt) {
  Table table = empty_table();
  const coll::Plan one_block{coll::Algorithm::one_shot_packets, 1, 256};
  insert(table, entry_of({"gpu0", "gpu1"}, allreduce_of(8 * KiB), {{one_block, 3, 0.1}}));
  insert(table, entry_of({"gpu0", "gpu1"}, allreduce_of(32 * KiB), {{kTwoShot, 14, 0.1}}));
  const Lookup lookup(table, {"gpu0", "gpu1"}, measured_machine());
  const std::uint64_t most = coll::most_bytes(coll::Operation::allreduce, one_block, team_of(2));
  EXPECT_EQ(lookup.find(allreduce_of(most), team_of(2))->plans.front().plan, one_block);
  EXPECT_EQ(lookup.find(allreduce_of(most + 1), team_of(2))->plans.front().plan, kTwoShot);
}

TEST(Lookup, PassesOverPlansOfTooManyBlocks) {
  Table table = empty_table();
  const coll::Plan wide{coll::Algorithm::two_shot, 128, 512}, narrow{coll::Algorithm::two_shot, 64, 512};
  insert(table, entry_of({"gpu0", "gpu1"}, allreduce_of(MiB), {{wide, 10, 0.1}, {narrow, 12, 0.1}}));
  insert(table, entry_of({"gpu0", "gpu1"}, allreduce_of(4 * MiB), {{wide, 30, 0.1}}));
  const Lookup all(table, {"gpu0", "gpu1"}, measured_machine()),
      few(table, {"gpu0", "gpu1"}, measured_machine(), {64, 64});
  EXPECT_EQ(all.find(allreduce_of(MiB), team_of(2))->plans.front().plan, wide);
  EXPECT_EQ(few.find(allreduce_of(MiB), team_of(2))->plans.front().plan, narrow);
  EXPECT_TRUE(all.find(allreduce_of(4 * MiB), team_of(2)));
  EXPECT_FALSE(few.find(allreduce_of(4 * MiB), team_of(2))) << "1 MiB's time says nothing of 4 MiB";
}

TEST(Lookup, MessagesHaveTheBlocksThatTheyHave) {
  Table table = empty_table();
  const coll::CallKey message{coll::Operation::sendrecv, coll::Arithmetic::none, MiB};
  insert(table, entry_of({"gpu0", "gpu1"}, message, {{{coll::Algorithm::direct, 64, 512}, 10, 0.1}}));
  EXPECT_TRUE(Lookup(table, {"gpu0", "gpu1"}, measured_machine(), {32, 64}).find(message, team_of(2)));
  EXPECT_FALSE(Lookup(table, {"gpu0", "gpu1"}, measured_machine(), {64, 32}).find(message, team_of(2)));
}

TEST(Lookup, TakesTheFirstPlanOfANeighbourRatherThanTheLastOfTheNearest) {
  Table table = empty_table();
  const coll::Plan one_block{coll::Algorithm::one_shot_packets, 1, 256};
  insert(table, entry_of({"gpu0", "gpu1"}, allreduce_of(8 * KiB), {{one_block, 3, 0.1}, {kRing, 90, 0.1}}));
  insert(table, entry_of({"gpu0", "gpu1"}, allreduce_of(32 * KiB), {{kTwoShot, 14, 0.1}}));
  const Lookup lookup(table, {"gpu0", "gpu1"}, measured_machine());
  const std::uint64_t most = coll::most_bytes(coll::Operation::allreduce, one_block, team_of(2));
  ASSERT_LT(most + 1, 16 * KiB) << "which 8 KiB are nearer to";
  EXPECT_EQ(lookup.find(allreduce_of(most + 1), team_of(2))->plans.front().plan, kTwoShot);
  // Where nobody's first can do it, some other will do.
  table = empty_table();
  insert(table, entry_of({"gpu0", "gpu1"}, allreduce_of(8 * KiB), {{one_block, 3, 0.1}, {kRing, 90, 0.1}}));
  const Lookup alone(table, {"gpu0", "gpu1"}, measured_machine());
  EXPECT_EQ(alone.find(allreduce_of(most + 1), team_of(2))->plans.front().plan, kRing);
}

TEST(Lookup, AroundASizeAreItsNeighbours) {
  const Lookup lookup(small_table(), {"gpu0", "gpu1"}, measured_machine());
  const auto bytes_around = [&](std::uint64_t bytes) {
    std::vector<std::uint64_t> found;
    for (const Entry& entry : lookup.around(allreduce_of(bytes), team_of(2))) found.push_back(entry.which.bytes);
    return found;
  };
  using Sizes = std::vector<std::uint64_t>;
  EXPECT_EQ(bytes_around(MiB), Sizes{MiB}) << "it was tuned itself";
  EXPECT_EQ(bytes_around(3 * MiB), (Sizes{4 * MiB, MiB, 4 * MiB}));
  EXPECT_EQ(bytes_around(8), (Sizes{KiB, KiB}));
  EXPECT_EQ(bytes_around(8 * MiB), (Sizes{4 * MiB, 4 * MiB}));
  EXPECT_TRUE(bytes_around(64 * MiB).empty());
}

TEST(Lookup, WhereNoPlanNearFitsItSaysWhichSizeWasMeasured) {
  const Lookup narrow(small_table(), {"gpu0", "gpu1"}, measured_machine(), {1, 1});
  ASSERT_FALSE(narrow.find(allreduce_of(3 * MiB), team_of(2)));
  const auto found = narrow.around(allreduce_of(3 * MiB), team_of(2));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().which.bytes, 4 * MiB);
  EXPECT_TRUE(found.front().plans.empty());
  EXPECT_TRUE(narrow.around(allreduce_of(64 * MiB), team_of(2)).empty());
}

TEST(Lookup, BetweenWindowsGoesByWhatWasTunedThere) {
  const Lookup lookup(table_with_windows(), {"gpu0", "gpu1"}, measured_machine());
  const coll::CallKey ordinary = allreduce_of(3 * MiB);
  EXPECT_EQ(lookup.find(ordinary, team_of(2))->plans.front().plan, kTwoShot);
  EXPECT_EQ(lookup.find(between_windows(ordinary), team_of(2))->plans.front().plan, kStraight);
  EXPECT_EQ(lookup.around(between_windows(ordinary), team_of(2)).back().which.bytes, 4 * MiB);
  const Lookup older(small_table(), {"gpu0", "gpu1"}, measured_machine());
  EXPECT_FALSE(older.find(between_windows(ordinary), team_of(2))) << "what ordinary buffers take says nothing of it";
  EXPECT_TRUE(older.around(between_windows(ordinary), team_of(2)).empty());
}

TEST(Lookup, ServesOtherDevicesThatAreLinkedAlike) {
  const Lookup lookup(small_table(), {"gpu3", "gpu2"}, measured_machine());
  ASSERT_FALSE(lookup.empty());
  EXPECT_EQ(lookup.find(allreduce_of(MiB), team_of(2))->plans.front().plan, kRing);
  EXPECT_TRUE(Lookup(small_table(), {"gpu0", "gpu1", "gpu2"}, measured_machine()).empty());
}

TEST(Lookup, DoesNotServeDevicesThatAreLinkedOtherwise) {
  // Mist: neighbours of a socket have three links, GPUs of different sockets the processors' bus.
  machine::Machine machine = path::mist();
  EXPECT_FALSE(Lookup(small_table(), {"gpu2", "gpu3"}, machine).empty());
  EXPECT_TRUE(Lookup(small_table(), {"gpu1", "gpu2"}, machine).empty());
}

}  // namespace
}  // namespace sennit::plan
