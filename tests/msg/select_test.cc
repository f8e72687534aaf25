#include "msg/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sennit::msg {
namespace {

/// The protocols of all sizes, with where each begins.
std::string protocols(const Facts& facts) {
  std::string all;
  for (const Range& range : ranges(facts))
    all += std::to_string(range.from) + " " + std::string(name(range.protocol)) + " ";
  return all;
}

TEST(Select, ShortMessagesAreStagedAndThenBestAsTheReceiverIs) {
  EXPECT_EQ(protocols({}), "0 staged 256 kernel_get 65537 rndv_put ");
  EXPECT_EQ(protocols({.at_once = false}), "0 staged 256 rndv_put ");
  EXPECT_EQ(protocols({.block_free = false}), "0 staged 256 rndv_put ");
  EXPECT_EQ(protocols({.sync_memops = false}), "0 staged 256 rndv_put ")
      << "what the program did to it may not be over";
  EXPECT_EQ(protocols({.to_gpu = false}), "0 staged 256 rndv_get ");
}

TEST(Select, WhereTheSenderDoesNotAcceptTheReceiverCopies) {
  EXPECT_EQ(protocols({.at_once = false, .accepts = false}), "0 staged 256 rndv_get ");
  EXPECT_EQ(protocols({.reachable = false, .at_once = false, .accepts = false}), "0 staged 256 host_bounce ");
  EXPECT_EQ(protocols({.to_gpu = false, .reachable = false}), "0 staged 256 host_bounce ");
  EXPECT_EQ(protocols({.reachable = false, .at_once = false}), "0 staged 256 rndv_put ") << "the sender reaches it";
}

TEST(Select, OnlyShortOnesAreBuffered) {
  EXPECT_EQ(protocols({.at_once = false, .long_waited = true}), "0 staged 256 rndv_buffered 65537 rndv_put ");
}

TEST(Select, BetweenNodesOnlyLongOnesArePipelined) {
  EXPECT_EQ(protocols({.same_node = false}), "0 staged 4194304 rndv_pipeline ");
  EXPECT_EQ(protocols({.same_node = false, .may_pipeline = false}), "0 staged ");
  EXPECT_EQ(protocols({.same_node = false, .listens = false}), "0 staged ");
}

TEST(Select, AReceiverThatDoesNotListenGetsItsLibrarysMessages) {
  EXPECT_EQ(protocols({.listens = false}), "0 staged ");
  EXPECT_EQ(protocols({.shareable = false}), "0 staged ");
}

TEST(Select, EachProtocolIsToldOfWithItsReason) {
  for (int protocol = 0; protocol <= static_cast<int>(Protocol::rndv_pipeline); ++protocol)
    EXPECT_FALSE(name(static_cast<Protocol>(protocol)).empty());
  const auto all = situations();
  for (const auto& situation : all)
    for (const Range& range : ranges(situation.facts)) {
      Facts facts = situation.facts;
      facts.bytes = range.from;
      EXPECT_EQ(select(facts).protocol, range.protocol);
      EXPECT_FALSE(select(facts).reason.empty()) << situation.name;
    }
}

}  // namespace
}  // namespace sennit::msg
