#include "shim/recorder/requests.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace sennit::shim::recorder {
namespace {

Operation begun(std::uint64_t at) {
  return {.begun = at, .bytes = at};
}

TEST(OpenRequests, TellsWhatBegan) {
  OpenRequests requests;
  requests.add(7, begun(100));
  EXPECT_FALSE(requests.end(8)) << "nobody saw it begin";
  EXPECT_EQ(requests.end(7).value().bytes, 100u);
  EXPECT_FALSE(requests.end(7));
  EXPECT_EQ(requests.size(), 0u);
}

TEST(OpenRequests, APersistentOneStays) {
  OpenRequests requests;
  requests.add(7, {.bytes = 8, .persistent = true});
  EXPECT_FALSE(requests.end(7)) << "it does not run";
  for (std::uint64_t time = 1; time < 4; ++time) {
    EXPECT_EQ(requests.start(7, time).value().bytes, 8u);
    EXPECT_EQ(requests.end(7).value().begun, time);
  }
  requests.forget(7);
  EXPECT_FALSE(requests.start(7, 9));
}

TEST(OpenRequests, AnOlderOneWithTheHandleHasEndedWhereNobodyLooked) {
  OpenRequests requests;
  EXPECT_FALSE(requests.add(7, begun(100)));
  for (Handle other = 8; other < 200; ++other) EXPECT_FALSE(requests.add(other, begun(other)));
  EXPECT_TRUE(requests.add(7, begun(200)));
  EXPECT_TRUE(requests.add(7, begun(300)));
  const auto ended = requests.end_unseen(7);
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].begun, 100u);
  EXPECT_EQ(ended[1].begun, 200u);
  EXPECT_EQ(requests.end(7).value().begun, 300u);
  EXPECT_FALSE(requests.end(7));
  EXPECT_TRUE(requests.end_unseen(9).empty());
  EXPECT_EQ(requests.end(9).value().begun, 9u);
}

/// Against a table that is plainly right, with few handles, so that many are equal.
TEST(OpenRequests, WhatHasOneHandleEndsInOrder) {
  OpenRequests requests;
  std::map<Handle, std::vector<std::uint64_t>> model;
  std::mt19937_64 random(3);
  std::size_t open = 0;
  for (std::uint64_t step = 1; step < 20000; ++step) {
    const Handle handle = 1000 + random() % 300 * 8;
    auto& of = model[handle];
    if (random() % 2 == 0) {
      requests.add(handle, begun(step));
      of.push_back(step);
      ++open;
    } else {
      const auto ended = requests.end(handle);
      ASSERT_EQ(ended.has_value(), !of.empty());
      if (!ended) continue;
      ASSERT_EQ(ended->begun, of.front());
      of.erase(of.begin());
      --open;
    }
  }
  EXPECT_EQ(requests.size(), open);
}

}  // namespace
}  // namespace sennit::shim::recorder
