#include "shim/recorder/nccl_choices.h"

#include <gtest/gtest.h>

namespace sennit::shim::recorder {
namespace {

TEST(NcclChoices, EqualCallsHaveOneAnswer) {
  NcclChoices choices;
  profile::Call call{};
  call.bytes_in = 4096;
  NcclChoices::Known& first = choices.of(call);
  EXPECT_EQ(first.uses, 0u) << "NCCL is asked";
  first.uses = 3;
  first.how = 7;
  EXPECT_EQ(choices.of(call).how, 7);
  call.begin = 5;  // what is new each time
  EXPECT_EQ(choices.of(call).how, 7);
  profile::Call other = call;
  other.bytes_in = 4100;  // of the same bin, which NCCL may do in another way
  EXPECT_NE(profile::bin_of(4096), profile::bin_of(4100));
  EXPECT_EQ(choices.of(other).how, 0);
  for (int what = 0; what < 4; ++what) {
    profile::Call one = call;
    if (what == 0) one.function = 1;
    if (what == 1) one.communicator = 1;
    if (what == 2) one.type = 1;
    if (what == 3) one.reduction = 1;
    EXPECT_EQ(choices.of(one).how, 0) << what;
  }
}

TEST(EventMasks, NcclTellsMoreWhileItIsAsked) {
  EventMasks masks;
  int shared = 0, own = 0;
  const int a = 1, b = 2, c = 3;  // communicators
  masks.add(&a, {&shared, 8, 2});
  masks.add(&b, {&shared, 16, 2});
  masks.add(&c, {&own, 0, 2});
  EXPECT_EQ(shared, 8 | 16);
  EXPECT_EQ(own, 0);
  masks.ask(1);
  masks.ask(1);
  masks.ask(-1);
  EXPECT_EQ(shared, 8 | 16 | 2);
  EXPECT_EQ(own, 2);
  masks.remove(&c);
  masks.remove(nullptr);
  masks.ask(-1);
  EXPECT_EQ(shared, 8 | 16);
  EXPECT_EQ(own, 2) << "it may have gone with its communicator";
}

}  // namespace
}  // namespace sennit::shim::recorder
