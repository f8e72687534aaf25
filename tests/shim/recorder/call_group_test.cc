#include "shim/recorder/call_group.h"

#include <gtest/gtest.h>

#include <vector>

namespace sennit::shim::recorder {
namespace {

int stream_a = 0, stream_b = 0;

/// A collective of the group, on buffers of their own.
CallGroup::Call call(std::uint16_t function, std::uint64_t bytes, const void* buffer = nullptr) {
  profile::Call made{};
  made.function = function;
  made.bytes_in = made.bytes_out = bytes;
  return {.of = profile::class_of(made),
          .told = {.bytes_in = bytes, .bytes_out = bytes, .time = 5, .at_once = false},
          .arguments = NcclChoices::key_of(made),
          .nccl = {function == 1 ? "AllReduce" : "AllGather", buffer, buffer, bytes}};
}

/// One after the other on a stream, as the recorder sees them; `told`: what NCCL says of each, in its order.
std::vector<int> run(CallGroup& group, NcclChoices& choices, const std::vector<CallGroup::Call>& calls,
                     const std::vector<std::pair<NcclCall, int>>& told, bool& asked) {
  int mask = 0;
  event_masks().add(&mask, {&mask, 0, 2});
  group.start();
  for (const CallGroup::Call& one : calls) {
    profile::Call made{};
    made.function = one.of.function;
    made.bytes_in = made.bytes_out = one.nccl.bytes;
    group.choose_by(choices.of(made, true));
    group.add(&stream_a, one);
  }
  asked = mask != 0;
  for (const auto& [which, how] : told)
    if (asked) group.hear(which, static_cast<std::uint8_t>(how));
  group.learn(choices);
  std::vector<int> hows;
  for (const CallGroup::Call& one : group.calls()) hows.push_back(one.how);
  group.end();
  EXPECT_EQ(mask, 0);
  event_masks().remove(&mask);
  return hows;
}

TEST(CallGroup, EqualGroupsHaveOneAnswer) {
  CallGroup group;
  NcclChoices choices;
  int one = 0, other = 0;
  const std::vector calls{call(1, 4096, &one), call(1, 4096, &other), call(2, 100, &one)};
  const std::vector<std::pair<NcclCall, int>> told{
      {calls[2].nccl, 3}, {{"AllReduce", &one, &one, 8192}, 9}, {calls[1].nccl, 5}, {calls[0].nccl, 4}};
  bool asked = false;
  EXPECT_EQ(run(group, choices, calls, told, asked), (std::vector{4, 5, 3}));
  EXPECT_TRUE(asked);
  EXPECT_EQ(run(group, choices, calls, told, asked), (std::vector{4, 5, 3})) << "remembered";
  EXPECT_FALSE(asked);
  const std::vector fewer{calls[0], calls[1]};
  EXPECT_EQ(run(group, choices, fewer, told, asked), (std::vector{0, 0})) << "others are done together";
  EXPECT_FALSE(asked);
  EXPECT_EQ(run(group, choices, fewer, {{calls[0].nccl, 6}, {calls[1].nccl, 7}}, asked), (std::vector{6, 7}));
  EXPECT_TRUE(asked);
  for (std::uint32_t i = 0; i < NcclChoices::kUses; ++i) {
    EXPECT_EQ(run(group, choices, calls, told, asked), (std::vector{4, 5, 3}));
    ASSERT_FALSE(asked) << i;
  }
  run(group, choices, calls, told, asked);
  EXPECT_TRUE(asked) << "now and then again";
}

TEST(CallGroup, EqualCallsOfAGroupAreToldOneByOne) {
  CallGroup group;
  NcclChoices choices;
  const std::vector calls{call(1, 64), call(1, 64)};
  bool asked = false;
  EXPECT_EQ(run(group, choices, calls, {{calls[0].nccl, 4}, {calls[0].nccl, 4}}, asked), (std::vector{4, 4}));
}

TEST(CallGroup, StreamsAreOfOneClassOrMixed) {
  CallGroup group;
  group.start();
  group.add(&stream_a, call(1, 64));
  group.add(&stream_a, call(1, 64));
  group.add(&stream_b, call(1, 64));
  ASSERT_EQ(group.streams().size(), 2u);
  EXPECT_EQ(group.streams()[0].calls.calls, 2u);
  EXPECT_EQ(group.all({}).calls, 3u);
  group.calls()[0].of.how = 7;
  group.calls()[2].of.how = 7;
  group.sort_anew();
  EXPECT_TRUE(group.streams()[0].is_mixed);
  EXPECT_FALSE(group.streams()[1].is_mixed);
  EXPECT_EQ(group.streams()[1].calls.of.how, 7);
  EXPECT_EQ(group.streams()[1].calls.calls, 1u);
  const profile::Class mixed{.function = 9};
  EXPECT_EQ(group.all(mixed).of.function, 9);
  group.add_unrecorded(&stream_b);
  EXPECT_TRUE(group.streams()[1].is_mixed);
  group.end();
  EXPECT_FALSE(group.is_open());
  EXPECT_TRUE(group.streams().empty());
}

}  // namespace
}  // namespace sennit::shim::recorder
