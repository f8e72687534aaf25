#include "shim/mpi/open_requests.h"

#include <gtest/gtest.h>

namespace sennit::shim::mpi {
namespace {

constexpr Handle kRequest = 7;

OpenRequests::Shared moving() {
  auto open = std::make_shared<OpenRequest>();
  open->receive = std::make_unique<Receive>();
  return open;
}

TEST(OpenRequests, AHandleThatIsClaimedMayBeAnothersBeforeItsRequestEnds) {
  OpenRequests table;
  const auto first = moving(), second = moving();
  table.add(kRequest, first);
  {
    const auto claimed = table.claim(kRequest, *first);
    EXPECT_EQ(claimed.mapped(), first);
    EXPECT_EQ(table.find(kRequest), nullptr);
    EXPECT_TRUE(table.moving().empty());
    table.add(kRequest, second);  // another thread, to which MPI has given the handle meanwhile
    table.end(*first);
  }
  EXPECT_EQ(table.find(kRequest), second);
  EXPECT_TRUE(second->active);
  EXPECT_TRUE(table.busy());
}

TEST(OpenRequests, WhatHasNotEndedIsPutBack) {
  OpenRequests table;
  const auto open = moving();
  table.add(kRequest, open);
  auto claimed = table.claim(kRequest, *open);
  EXPECT_TRUE(open->claimed);
  table.put_back(std::move(claimed));
  EXPECT_FALSE(open->claimed);
  EXPECT_EQ(table.find(kRequest), open);
  EXPECT_TRUE(table.busy());
}

TEST(OpenRequests, OfSeveralWithOneHandleTheLatestIsLeft) {
  OpenRequests table;
  const auto first = moving(), second = moving();
  table.add(kRequest, first);
  table.add(kRequest, second);
  EXPECT_EQ(table.find(kRequest), second);
  const auto claimed = table.claim(kRequest, *second);
  EXPECT_TRUE(table.claim(kRequest, *second).empty());
  table.end(*second);
  EXPECT_FALSE(table.busy()) << "every later wait would look for what never comes";
}

TEST(OpenRequests, NobodyLooksAtAPersistentRequestThatIsBeingStarted) {
  OpenRequests table;
  const auto open = moving();
  open->persistent = true;
  open->active = false;
  table.add(kRequest, open);
  EXPECT_FALSE(table.busy());
  table.start(*open);
  EXPECT_TRUE(open->claimed);
  EXPECT_TRUE(table.busy());
  table.started(*open);
  EXPECT_FALSE(open->claimed);
  table.end(*open);
  EXPECT_FALSE(table.busy());
  EXPECT_EQ(table.find(kRequest), open);
}

TEST(OpenRequests, TheReceiveThatWasPostedFirstIsAwaitedFirst) {
  OpenRequests table;
  const auto first = moving(), second = moving(), persistent = moving();
  persistent->persistent = true;
  EXPECT_EQ(table.first_awaited().second, nullptr);
  table.add(kRequest - 1, persistent);
  table.add(kRequest, first);
  table.add(kRequest + 1, second);
  EXPECT_EQ(table.first_awaited(), std::pair(kRequest, first));
  EXPECT_EQ(table.first_awaited(), std::pair(kRequest, first));
  first->receive->looked = true;
  EXPECT_EQ(table.first_awaited().second, nullptr) << "the last one is looked at when it is waited for";
  EXPECT_TRUE(table.any_awaited());
  const auto third = moving();
  table.add(kRequest + 2, third);
  EXPECT_EQ(table.first_awaited(), std::pair(kRequest + 1, second));
  table.end(*third);
  EXPECT_EQ(table.first_awaited().second, nullptr);
  table.end(*second);
  EXPECT_FALSE(table.any_awaited());
}

TEST(OpenRequests, AReceiveOfWhatNeverComesIsNotAwaitedForEver) {
  OpenRequests table;
  const auto never = moving(), other = moving(), another = moving();
  table.add(kRequest, never);
  table.add(kRequest + 1, other);
  table.add(kRequest + 2, another);
  int looks = 0;
  while (table.first_awaited().second == never) ASSERT_LT(++looks, 1000);
  EXPECT_GT(looks, 0);
  EXPECT_EQ(table.first_awaited().second, other);
  other->receive->looked = another->receive->looked = true;
  EXPECT_FALSE(table.any_awaited()) << "what never comes counts for nothing";
}

}  // namespace
}  // namespace sennit::shim::mpi
