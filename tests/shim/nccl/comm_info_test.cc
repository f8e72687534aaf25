#include "shim/nccl/comm_info.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "device/memory.h"

namespace sennit::shim::nccl {
namespace {

constexpr std::uint64_t kScratch = 64 << 20;

CommInfo info_of(std::uint64_t process) {
  return {{32, 66}, process, "measured allreduce,bcast", "2.28.9", kScratch};
}

std::vector<comm::Bytes> written(const std::vector<CommInfo>& infos) {
  std::vector<comm::Bytes> bytes;
  for (const CommInfo& info : infos) bytes.push_back(info.write());
  return bytes;
}

// Returns what every rank says of them, which has to be the same.
std::string refused(const std::vector<CommInfo>& infos) {
  const auto bytes = written(infos);
  std::string said;
  for (std::size_t rank = 0; rank < infos.size(); ++rank) {
    const auto agreed = compare(bytes, static_cast<int>(rank));
    EXPECT_EQ(agreed.status().code(), Code::mismatch);
    if (rank == 0) said = agreed.status().what();
    EXPECT_EQ(agreed.status().what(), said);
  }
  return said;
}

TEST(CommInfo, IsReadAsItWasWritten) {
  const auto read = CommInfo::read(info_of(7).write());
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(*read, info_of(7));
  CommInfo other = info_of(8);
  other.no_blocks = true;
  other.blocking = false;
  other.has_table = true;
  other.asked = "GPU-1";
  other.gpu = "GPU-0";
  ASSERT_TRUE(CommInfo::read(other.write()).ok());
  EXPECT_EQ(*CommInfo::read(other.write()), other);
}

TEST(CommInfo, SaysWhatARankHas) {
  setenv("SENNIT_TABLE", "some.json", 1);
  Switches switches;
  switches.nccl = "2.28.9";
  Config config;
  config.blocking = false;
  EXPECT_EQ(CommInfo::of(switches, config, {4, 66}, 7),
            (CommInfo{{4, 66}, device::this_process(), text_of(switches), "2.28.9", 7, false, false, true}));
  setenv("SENNIT_TABLE", "none", 1);
  EXPECT_FALSE(CommInfo::of(switches, config, {4, 66}, 7).has_table);
  unsetenv("SENNIT_TABLE");
}

TEST(CommInfo, TellsSwitchesApart) {
  Switches all, some, none;
  all.take = Take::all;
  some.operations = {"allreduce", "bcast"};
  none.operations = {"none"};
  EXPECT_EQ((std::set{text_of({}), text_of(all), text_of(some), text_of(none)}).size(), 4U);
}

TEST(CommInfo, ThatEndsEarlyOrHoldsTooMuchIsNone) {
  auto bytes = info_of(7).write();
  bytes.push_back({});
  EXPECT_FALSE(CommInfo::read(bytes).ok());
  EXPECT_FALSE(compare({info_of(7).write(), bytes}, 0).ok());
  bytes.resize(bytes.size() - 2);
  EXPECT_FALSE(CommInfo::read(bytes).ok());
  EXPECT_FALSE(CommInfo::read({}).ok());
}

TEST(CommInfos, AllGoByTheLeastRoom) {
  CommInfo narrow = info_of(2), few_for_messages = info_of(3);
  narrow.room.blocks = 4;
  few_for_messages.room.of_messages = 8;
  const auto bytes = written({info_of(1), narrow, few_for_messages});
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(*compare(bytes, rank), (Agreed{false, false, {4, 8}, kScratch})) << rank;
}

TEST(CommInfos, Rank0sScratchCounts) {
  CommInfo less = info_of(2);
  less.scratch_bytes = 16 << 20;
  EXPECT_EQ(compare(written({info_of(1), less}), 1)->scratch_bytes, kScratch);
  EXPECT_EQ(compare(written({less, info_of(1)}), 1)->scratch_bytes, less.scratch_bytes);
}

TEST(CommInfos, ARankThatWantsNoBlocksIsEnough) {
  CommInfo without = info_of(2);
  without.no_blocks = true;
  EXPECT_FALSE(compare(written({info_of(1), info_of(3)}), 0)->no_blocks);
  for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(compare(written({info_of(1), without}), rank)->no_blocks) << rank;
}

TEST(CommInfos, AllHaveToBlockAndOneTableIsEnough) {
  CommInfo patient = info_of(2), tuned = info_of(3);
  patient.blocking = false;
  tuned.has_table = true;
  EXPECT_TRUE(compare(written({info_of(1), tuned}), 0)->blocking);
  EXPECT_FALSE(compare(written({info_of(1), patient}), 0)->any_table);
  for (int rank = 0; rank < 3; ++rank) {
    const auto agreed = compare(written({info_of(1), patient, tuned}), rank);
    EXPECT_FALSE(agreed->blocking) << rank;
    EXPECT_TRUE(agreed->any_table) << rank;
  }
}

TEST(CommInfos, RanksOfOneProcessKnowIt) {
  const auto bytes = written({info_of(1), info_of(2), info_of(1)});
  EXPECT_EQ(*compare(bytes, 0), (Agreed{true, true, {32, 66}, kScratch}));
  EXPECT_EQ(*compare(bytes, 1), (Agreed{false, true, {32, 66}, kScratch}));
  EXPECT_EQ(*compare(bytes, 2), (Agreed{true, true, {32, 66}, kScratch}));
}

TEST(CommInfos, WhatDiffersIsNamedWithTheRank) {
  CommInfo takes_all = info_of(2), other_nccl = info_of(2);
  takes_all.switches = "all allreduce,bcast";
  other_nccl.nccl = "2.28.9 without multicast";
  EXPECT_EQ(refused({info_of(1), takes_all}), "rank 1 has another SENNIT_TAKE or SENNIT_OPS than rank 0");
  EXPECT_EQ(refused({info_of(1), info_of(3), takes_all}), "rank 2 has another SENNIT_TAKE or SENNIT_OPS than rank 0");
  EXPECT_EQ(refused({info_of(1), other_nccl, takes_all}), "rank 1 has another NCCL or NCCL_NVLS_ENABLE than rank 0");
}

TEST(RoomOn, IsAQuarterAndNoMoreThanNcclsOwn) {
  const auto expect = [](unsigned concurrent, unsigned allowed, unsigned blocks, unsigned of_messages) {
    const plan::Room room = room_on(concurrent, allowed);
    EXPECT_EQ(room.blocks, blocks) << concurrent << " " << allowed;
    EXPECT_EQ(room.of_messages, of_messages) << concurrent << " " << allowed;
  };
  expect(132, 0, 32, 66);  // an H200's
  expect(40, 0, 20, 20);
  expect(1, 0, 1, 1);
  expect(0, 0, 1, 1);
}

TEST(RoomOn, TheUserAllowsCollectivesFewer) {
  EXPECT_EQ(room_on(132, 4).blocks, 4U);
  EXPECT_EQ(room_on(132, 4).of_messages, 66U);
  EXPECT_EQ(room_on(132, 64).blocks, 32U) << "and no more";
}

}  // namespace
}  // namespace sennit::shim::nccl
