#include "shim/nccl/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::shim::nccl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Comm comm(std::uintptr_t number) {
  return reinterpret_cast<Comm>(number);
}
Call collective(Comm on, std::size_t count) {
  Call call;
  call.comm = on;
  call.count = count;
  return call;
}
Call message(Comm on, std::size_t count) {
  Call call = collective(on, count);
  call.entry = Entry::send;
  return call;
}
GroupedCall ours(const Call& call) {
  return {call, true, {}, false};
}
GroupedCall nccls(const Call& call) {
  return {call, false, {}, false};
}
GroupedCall on_stream(std::uintptr_t number, GroupedCall call) {
  call.call.stream = reinterpret_cast<Stream>(number);
  return call;
}
GroupedCall to_itself(Entry entry, std::size_t count) {
  Call call = message(comm(8), count);
  call.entry = entry;
  return {call, true, {}, true};
}
std::vector<std::size_t> counts(const Run& run) {
  std::vector<std::size_t> counts;
  for (const GroupedCall& each : run.calls) counts.push_back(each.call.count);
  return counts;
}

const Comm a = comm(8), b = comm(16);

TEST(Group, WithoutCallsNothingIsDone) {
  EXPECT_THAT(arrange({}), IsEmpty());
}

TEST(Group, OfNcclsCallsAloneStaysOneInItsOrder) {
  const std::vector<GroupedCall> calls{nccls(collective(a, 1)), nccls(message(b, 2)), nccls(collective(b, 3)),
                                       nccls(collective(a, 4))};
  const auto runs = arrange(calls);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].ours);
  EXPECT_THAT(counts(runs[0]), ElementsAre(1, 2, 3, 4));
}

TEST(Group, OfOneCommunicatorKeepsItsOrder) {
  // Another rank may make the same calls without a group.
  const std::vector<GroupedCall> calls{nccls(collective(a, 1)), ours(collective(a, 2)), ours(collective(a, 3)),
                                       nccls(collective(a, 4))};
  const auto runs = arrange(calls);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_FALSE(runs[0].ours || runs[2].ours);
  EXPECT_TRUE(runs[1].ours);
  EXPECT_FALSE(runs[1].on_side_stream) << "there is nobody to make way for";
  EXPECT_THAT(counts(runs[0]), ElementsAre(1));
  EXPECT_THAT(counts(runs[1]), ElementsAre(2, 3));
  EXPECT_THAT(counts(runs[2]), ElementsAre(4));
}

TEST(Group, OfSeveralCommunicatorsLetsEachGoItsWay) {
  const std::vector<GroupedCall> calls{ours(collective(a, 1)), ours(collective(b, 2)), ours(collective(a, 3))};
  const auto runs = arrange(calls);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_TRUE(runs[0].ours && runs[0].on_side_stream && runs[1].ours && runs[1].on_side_stream);
  EXPECT_THAT(counts(runs[0]), ElementsAre(1, 3));
  EXPECT_THAT(counts(runs[1]), ElementsAre(2));
}

TEST(Group, ACommunicatorOfBothLibrariesStaysOnItsStream) {
  const std::vector<GroupedCall> calls{ours(collective(a, 1)), nccls(collective(a, 2)), ours(collective(b, 3))};
  const auto runs = arrange(calls);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_TRUE(runs[0].ours && !runs[0].on_side_stream) << "what follows on the stream must not overtake it";
  EXPECT_TRUE(runs[1].ours && runs[1].on_side_stream);
  EXPECT_FALSE(runs[2].ours);
}

TEST(Group, NcclsCallsOfSeveralCommunicatorsAreOneGroup) {
  // Of one thread with two GPUs: NCCL connects each with the other in its first group.
  const std::vector<GroupedCall> calls{ours(collective(a, 1)),  nccls(collective(a, 2)), ours(collective(a, 3)),
                                       nccls(collective(a, 4)), ours(collective(b, 1)),  nccls(collective(b, 2)),
                                       ours(collective(b, 3)),  nccls(collective(b, 4))};
  const auto runs = arrange(calls);
  ASSERT_EQ(runs.size(), 6u);
  EXPECT_THAT(counts(runs[0]), ElementsAre(1));
  EXPECT_THAT(counts(runs[1]), ElementsAre(1));
  EXPECT_FALSE(runs[2].ours);
  EXPECT_THAT(counts(runs[2]), ElementsAre(2, 2));
  EXPECT_THAT(counts(runs[3]), ElementsAre(3));
  EXPECT_THAT(counts(runs[4]), ElementsAre(3));
  EXPECT_THAT(counts(runs[5]), ElementsAre(4, 4));
}

TEST(Group, ACallsTurnIsTheSameWhateverElseIsInTheGroup) {
  // `b` begins with NCCL's: it waits for what is sennit's there first, and for nothing later.
  const std::vector<GroupedCall> calls{nccls(collective(b, 1)), ours(collective(b, 2)), ours(collective(a, 3)),
                                       nccls(collective(a, 4))};
  const auto runs = arrange(calls);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_THAT(counts(runs[0]), ElementsAre(3));
  EXPECT_THAT(counts(runs[1]), ElementsAre(1, 4));
  EXPECT_THAT(counts(runs[2]), ElementsAre(2));
}

TEST(Group, MessagesAreOneGroupBehindTheRest) {
  const std::vector<GroupedCall> calls{nccls(message(a, 1)), ours(collective(a, 2)), nccls(message(b, 3)),
                                       nccls(collective(a, 4)), nccls(message(a, 5))};
  const auto runs = arrange(calls);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_THAT(counts(runs[0]), ElementsAre(2));
  EXPECT_THAT(counts(runs[1]), ElementsAre(4));
  EXPECT_FALSE(runs[2].ours);
  EXPECT_THAT(counts(runs[2]), ElementsAre(1, 3, 5)) << "all of them may be needed for any to end";
}

TEST(Group, MessagesOfOneCommunicatorAreOneLaunchOnTheirStream) {
  const std::vector<GroupedCall> calls{ours(message(a, 1)), ours(collective(a, 2)), ours(message(a, 3))};
  const auto runs = arrange(calls);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_FALSE(runs[0].messages);
  EXPECT_TRUE(runs[1].messages && runs[1].ours);
  EXPECT_FALSE(runs[1].on_side_stream) << "there is nobody to make way for";
  EXPECT_THAT(counts(runs[1]), ElementsAre(1, 3));
}

TEST(Group, MessagesOfBothLibrariesDoNotWaitForEachOther) {
  const std::vector<GroupedCall> calls{nccls(message(a, 1)), ours(message(a, 2)), ours(message(b, 3)),
                                       nccls(message(b, 4)), ours(message(a, 5))};
  const auto runs = arrange(calls);
  ASSERT_EQ(runs.size(), 3u);
  for (const auto& run : runs) EXPECT_TRUE(run.messages);
  EXPECT_TRUE(runs[0].on_side_stream && runs[1].on_side_stream)
      << "on one stream they would wait for NCCL's, or NCCL's for them";
  EXPECT_THAT(counts(runs[0]), ElementsAre(2, 5));
  EXPECT_THAT(counts(runs[1]), ElementsAre(3));
  EXPECT_FALSE(runs[2].ours);
  EXPECT_THAT(counts(runs[2]), ElementsAre(1, 4));
}

TEST(Group, MessagesOnSeveralStreamsAreBehindAllOfThem) {
  const std::vector<GroupedCall> calls{on_stream(1, ours(message(a, 1))), on_stream(2, ours(message(a, 2)))};
  const auto runs = arrange(calls);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(runs[0].messages && runs[0].on_side_stream);
  EXPECT_THAT(counts(runs[0]), ElementsAre(1, 2));
}

TEST(Group, WhatARankSendsItselfAndDoesNotReceiveIsNccls) {
  std::vector<GroupedCall> whole{to_itself(Entry::recv, 7), to_itself(Entry::send, 7), ours(message(a, 2))};
  leave_unpaired(whole);
  for (const GroupedCall& each : whole) EXPECT_TRUE(each.ours);
  for (std::vector<GroupedCall> calls :
       {std::vector{to_itself(Entry::send, 7)}, {to_itself(Entry::send, 7), to_itself(Entry::recv, 8)}}) {
    calls.push_back(ours(message(a, 2)));
    leave_unpaired(calls);
    EXPECT_FALSE(calls.front().ours);
    EXPECT_THAT(calls.front().how, testing::StartsWith("NCCL: "));
    EXPECT_TRUE(calls.back().ours) << "it has another end";
  }
}

}  // namespace
}  // namespace sennit::shim::nccl
