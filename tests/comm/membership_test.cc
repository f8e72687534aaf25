#include "comm/membership.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace sennit::comm {
namespace {

using Ranks = std::vector<int>;

TEST(Divide, OneNodeWhenEveryoneReachesEveryone) {
  EXPECT_EQ(divide({{}, {0}, {0, 1}, {0, 1, 2}}), (Ranks{0, 0, 0, 0}));
}

TEST(Divide, EachRankAloneWhenNobodyIsReached) {
  EXPECT_EQ(divide({{}, {}, {}}), (Ranks{0, 1, 2}));
}

TEST(Divide, InterleavedNodes) {
  EXPECT_EQ(divide({{}, {}, {0}, {1}, {0, 2}}), (Ranks{0, 1, 0, 1, 0}));
}

// Rank 2 reaches 0 but not 1, which is with 0: a node is where everybody reaches everybody.
TEST(Divide, DoesNotBelieveInTransitivity) {
  EXPECT_EQ(divide({{}, {0}, {0}, {0, 1, 2}}), (Ranks{0, 0, 2, 0}));
  EXPECT_EQ(divide({{}, {0}, {0}, {2}}), (Ranks{0, 0, 2, 2}));
}

TEST(Divide, NobodyIsNothing) {
  EXPECT_TRUE(divide({}).empty());
}

TEST(Member, SurvivesTheWire) {
  const Member self = *describe_self(7);
  const Result<Member> read = decode_member(encode(self));
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->rank, 7);
  EXPECT_EQ(read->host, self.host);
  EXPECT_EQ(read->network, self.network);
  EXPECT_EQ(read->socket, self.socket);
  EXPECT_EQ(read->nonce, self.nonce);
  EXPECT_EQ(read->pid, ::getpid());
  EXPECT_EQ(read->uid, ::getuid());
}

TEST(Member, IsRefusedWhenTruncatedOrStrange) {
  Bytes bytes = encode(*describe_self(0));
  bytes.pop_back();
  EXPECT_EQ(decode_member(bytes).status().code(), Code::corrupt);
  EXPECT_EQ(decode_member({}).status().code(), Code::corrupt);
  Member strange = *describe_self(0);
  strange.socket = "somebody-elses-service";
  EXPECT_EQ(decode_member(encode(strange)).status().code(), Code::corrupt);
}

TEST(Member, HasASocketNobodyCanGuess) {
  const Member a = *describe_self(0), b = *describe_self(0);
  EXPECT_NE(a.socket, b.socket);
  EXPECT_NE(a.nonce, b.nonce);
  EXPECT_EQ(a.host, b.host);
}

TEST(MayShareNode, NeedsHostNodeNameAndUser) {
  const Member a = *describe_self(0);
  Member b = a;
  EXPECT_TRUE(may_share_node(a, b));
  b.host += 1;
  EXPECT_FALSE(may_share_node(a, b));
  b = a;
  b.node = "other";
  EXPECT_FALSE(may_share_node(a, b));
  b = a;
  b.uid += 1;
  EXPECT_FALSE(may_share_node(a, b));
}

}  // namespace
}  // namespace sennit::comm
