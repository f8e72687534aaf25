// Messages between pairs of ranks on the host executor: any pattern, in any groups.
#include "coll/message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "base/units.h"
#include "coll/messages.h"
#include "delayed.h"
#include "local_team.h"

namespace sennit::coll {
namespace {

constexpr MessageBlocks kApart{kMostBlocks / 2, kMostBlocks / 2, false};

/// A message with its two ends, of bytes that are its own.
class Sent {
 public:
  Sent(int from, int to, std::uint64_t bytes, unsigned blocks, unsigned number)
      : from_(from), to_(to), blocks_(blocks), input_(bytes + kMargin), output_(bytes + 2 * kMargin, kUntouched) {
    for (std::size_t i = 0; i < input_.size(); ++i)
      input_[i] = static_cast<std::byte>(i * 31 + i / 256 * 7 + number * 101 + 1);
  }
  int from() const { return from_; }
  int to() const { return to_; }
  Message sending() { return {to_, true, input_.data() + kMargin, bytes(), blocks_, 256}; }
  Message receiving() { return {from_, false, output_.data() + kMargin, bytes(), blocks_, 256}; }

  void verify() const {
    SCOPED_TRACE(std::to_string(bytes()) + " bytes from " + std::to_string(from_) + " to " + std::to_string(to_));
    for (std::size_t i = 0; i < output_.size(); ++i) {
      const bool inside = i >= kMargin && i < kMargin + bytes();
      ASSERT_EQ(output_[i], inside ? input_[i] : kUntouched) << "byte " << i;
    }
  }

 private:
  static constexpr std::size_t kMargin = 32;
  static constexpr std::byte kUntouched{0xA5};
  std::uint64_t bytes() const { return input_.size() - kMargin; }

  const int from_, to_;
  const unsigned blocks_;
  std::vector<std::byte> input_, output_;
};

/// The messages that each rank still has to begin, in order.
class Traffic {
 public:
  explicit Traffic(LocalTeam& local) : local_(local), to_begin_(static_cast<std::size_t>(local.size())) {}

  void add(int from, int to, std::uint64_t bytes, unsigned blocks) {
    sent_.push_back(std::make_unique<Sent>(from, to, bytes, blocks, unsigned(sent_.size())));
    of(from).push_back(sent_.back()->sending());
    of(to).push_back(sent_.back()->receiving());
  }
  std::size_t left(int rank) { return of(rank).size(); }
  /// Begins the next `count` of a rank's as one group.
  void begin(int rank, std::size_t count) {
    auto& left = of(rank);
    const std::vector<Message> group(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count));
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count));
    const Status begun = send_receive(group, local_.team(rank), kApart, local_.lane(rank));
    ASSERT_TRUE(begun.ok()) << begun.text();
  }
  void finish() {
    for (int rank = 0; rank < local_.size(); ++rank) {
      const auto done = local_.lane(rank).synchronize();
      ASSERT_TRUE(done.ok()) << "rank " << rank << ": " << done.text();
    }
    for (const auto& each : sent_) {
      each->verify();
      if (testing::Test::HasFatalFailure()) return;
    }
  }

 private:
  std::deque<Message>& of(int rank) { return to_begin_[static_cast<std::size_t>(rank)]; }

  LocalTeam& local_;
  std::vector<std::deque<Message>> to_begin_;
  std::vector<std::unique_ptr<Sent>> sent_;
};

TEST(Messages, OneAloneOfAnyLength) {
  for (const std::uint64_t slot : {16, 256, 64 * int(KiB)}) {
    LocalTeam local(2, slot);
    Traffic traffic(local);
    for (const std::uint64_t bytes : {1, 15, 16, 17, 255, 4099, 100'000})
      for (const unsigned blocks : {1, 2, 7}) traffic.add(1, 0, bytes, blocks);
    while (traffic.left(0) != 0) traffic.begin(0, 1), traffic.begin(1, 1);
    traffic.finish();
  }
}

TEST(Messages, AllToAllInOneGroupWithARanksOwn) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
    LocalTeam local(ranks, 64);
    Traffic traffic(local);
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to) traffic.add(from, to, 3000 + static_cast<unsigned>(from * 7 + to), 2);
    for (int rank = 0; rank < ranks; ++rank) traffic.begin(rank, traffic.left(rank));
    traffic.finish();
  }
}

TEST(Messages, WhatIsInOneGroupHereIsInSeveralThere) {
  // Rank 0 begins all at once; 1 sends only when it has heard from 2, and 2 only when it has heard from 0. Nothing
  // fits the slots, so that whoever were served in turn would wait for ever.
  LocalTeam local(3, 16);
  Traffic traffic(local);
  traffic.add(0, 1, 50'000, 2);
  traffic.add(0, 2, 50'000, 2);
  std::vector<std::byte> data(50'000, std::byte{7}), out(50'000);
  const auto ungrouped = [&](int rank, int peer, bool sends) {
    const Message one{peer, sends, sends ? data.data() : out.data(), data.size(), 2, 256};
    ASSERT_TRUE(send_receive(std::span(&one, 1), local.team(rank), kApart, local.lane(rank)).ok());
  };
  traffic.begin(0, 2);
  ungrouped(1, 2, false);
  traffic.begin(1, 1);
  traffic.begin(2, 1);
  ungrouped(2, 1, true);
  traffic.finish();
  EXPECT_EQ(out, data);
}

TEST(Messages, SmallOnesWaitForNobody) {
  // What fits the slots is sent before its receiver comes.
  LocalTeam local(2, 256);
  Traffic traffic(local);
  traffic.add(0, 1, 200, 2);
  traffic.begin(0, 1);
  ASSERT_TRUE(local.lane(0).synchronize().ok());
  traffic.begin(1, 1);
  traffic.finish();
}

TEST(Messages, MoreThanALaunchHolds) {
  for (const int ranks : {2, 5}) {
    LocalTeam local(ranks, 32);
    Traffic traffic(local);
    std::mt19937 random(5);
    // Of one pair far more than of the others, also to itself.
    for (unsigned i = 0; i < 3 * ManyMessages::kMostMessages; ++i) {
      const int from = static_cast<int>(random() % static_cast<unsigned>(ranks));
      const int to = i % 3 == 0 ? static_cast<int>(random() % static_cast<unsigned>(ranks)) : (from + 1) % ranks;
      traffic.add(from, to, 1 + random() % 900, 1 + i % 3);
    }
    for (int rank = 0; rank < ranks; ++rank) traffic.begin(rank, traffic.left(rank));
    traffic.finish();
  }
}

TEST(Messages, AnyGroupsInAnyOrderOfThreads) {
  // Messages have one order for all; each rank cuts it into groups of its own. Then whoever has the first that is not
  // done is not kept from it.
  const std::uint32_t first = first_seed();
  for (std::uint32_t seed = first; seed < first + 20; ++seed) {
    SCOPED_TRACE("SENNIT_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    const auto draw = [&](std::size_t below) { return random() % below; };
    const int ranks = 2 + static_cast<int>(draw(7));
    LocalTeam local(ranks, std::uint64_t{16} << draw(5));
    Traffic traffic(local);
    for (int i = 0; i < 60; ++i) {
      const auto from = static_cast<int>(draw(static_cast<std::size_t>(ranks)));
      const auto step = 1 + static_cast<int>(draw(static_cast<std::size_t>(ranks - 1)));
      traffic.add(from, (from + step) % ranks, 1 + draw(draw(4) == 0 ? 20'000 : 500),
                  1 + static_cast<unsigned>(draw(3)));
    }
    const Delayed delayed(seed);
    for (int rank = 0; rank < ranks; ++rank)
      while (traffic.left(rank) != 0) traffic.begin(rank, 1 + draw(std::min<std::size_t>(traffic.left(rank), 12)));
    traffic.finish();
    if (HasFatalFailure()) return;
  }
}

TEST(Messages, CountsWrapAround) {
  LocalTeam local(2, 16 * KiB);
  ASSERT_EQ(MessageSlots::of(local.team(0).shape).depth, 4u);
  for (int rank = 0; rank < 2; ++rank)
    for (unsigned block = kApart.first; block < kApart.first + 2; ++block)
      for (int peer = 0; peer < 2; ++peer) {
        BlockCounts& counts = local.counts(rank)[block];
        counts.sent[peer] = counts.taken[peer] = 0xFFFFFFF5u;
        *local.team(rank).produced(rank, peer, block) = 0xFFFFFFF5u;
        *local.team(rank).consumed(rank, peer, block) = 0xFFFFFFF5u;
      }
  Traffic traffic(local);
  for (int i = 0; i < 4; ++i) traffic.add(i % 2, 1 - i % 2, 500'000, 2);
  for (int rank : {0, 1}) traffic.begin(rank, 4);
  traffic.finish();
}

TEST(Messages, APeerThatDoesNotComeIsNamed) {
  LocalTeam local(3, 256, std::chrono::milliseconds(300));
  std::byte here[64];
  const Message one{2, false, here, sizeof here, 1, 256};
  ASSERT_TRUE(send_receive(std::span(&one, 1), local.team(0), kApart, local.lane(0)).ok());
  const Status status = local.lane(0).synchronize();
  EXPECT_EQ(status.code(), Code::timed_out);
  EXPECT_NE(status.text().find("rank 2"), std::string::npos) << status.text();
}

TEST(Messages, WhatDoesNotFitIsRefused) {
  LocalTeam local(2, 256);
  std::byte here[64];
  const auto refused = [&](std::span<const Message> messages) {
    return send_receive(messages, local.team(0), kApart, local.lane(0)).code();
  };
  const Message wide[] = {{1, true, here, sizeof here, kMostBlocks, 256}};
  const Message alone[] = {{0, true, here, sizeof here, 1, 256}};
  const Message uneven[] = {{0, true, here, 32, 1, 256}, {0, false, here, 16, 1, 256}};
  EXPECT_EQ(refused(wide), Code::invalid_argument);
  EXPECT_EQ(refused(alone), Code::invalid_argument);
  EXPECT_EQ(refused(uneven), Code::invalid_argument);
}

TEST(Messages, SlotsAreAPowerOfTwoAndFitTheirPeersPlace) {
  for (const std::uint64_t block : {256, 5088, 65536, 201'000, 1 << 24})
    for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
      const Shape shape = Shape::of_block(block, ranks);
      const MessageSlots slots = MessageSlots::of(shape);
      EXPECT_EQ(slots.depth & (slots.depth - 1), 0u);
      EXPECT_GE(slots.depth, 2u);
      EXPECT_GE(slots.bytes, 16u);
      EXPECT_EQ(slots.bytes % 16, 0u);
      EXPECT_LE(slots.depth * slots.bytes, depth_of(Layout::direct) * shape.slot(Layout::direct));
    }
}

}  // namespace
}  // namespace sennit::coll
