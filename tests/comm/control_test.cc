#include "comm/control.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

namespace sennit::comm {
namespace {

ControlSegment second_view(const ControlSegment& segment) {
  Result<ControlSegment> view = ControlSegment::open(UniqueFd(::dup(segment.file())), segment.ranks());
  EXPECT_TRUE(view.ok()) << view.status().text();
  return std::move(*view);
}

TEST(ControlSegment, IsZeroAndSeenByAll) {
  const ControlSegment one = std::move(*ControlSegment::make(3));
  const ControlSegment two = second_view(one);
  for (int member = 0; member < 3; ++member)
    for (const Slot& slot : {std::cref(one.slots(member).votes.front()), std::cref(one.slots(member).rtr.back())})
      for (const auto& word : slot.words) EXPECT_EQ(word.load(), 0u);
  one.slots(2).host_paths[5].last_message_ns.store(42);
  EXPECT_EQ(two.slots(2).host_paths[5].last_message_ns.load(), 42u);
  EXPECT_EQ(two.slots(1).host_paths[5].last_message_ns.load(), 0u);
}

TEST(ControlSegment, SlotsOverlapNeitherAnotherRanksNorTheRecords) {
  const ControlSegment segment = std::move(*ControlSegment::make(2));
  const auto* base = static_cast<const std::byte*>(segment.data());
  for (int member = 0; member < 2; ++member) segment.note(member, std::string(100, 'n'), ~0ull, -1, ~0ull);
  for (int member = 0; member < 2; ++member)
    for (std::size_t i = 0; i < sizeof(RankSlots) / sizeof(Slot); ++i) {
      Slot& slot = reinterpret_cast<Slot*>(&segment.slots(member))[i];
      const auto* at = reinterpret_cast<const std::byte*>(&slot);
      ASSERT_EQ((at - base) % 64, 0);
      ASSERT_LE(at + 64, base + segment.bytes());
      ASSERT_EQ(slot.words[0].exchange(1), 0u);
    }
  EXPECT_EQ(segment.last(0).sequence, ~0ull);
}

TEST(ControlSegment, CannotBeShrunkUnderItsUsers) {
  const ControlSegment segment = std::move(*ControlSegment::make(1));
  EXPECT_NE(::ftruncate(segment.file(), 0), 0);
  EXPECT_NE(::ftruncate(segment.file(), 1 << 30), 0);
}

TEST(ControlSegment, IsRefusedUnlessSealedAndOfTheRightSize) {
  const ControlSegment segment = std::move(*ControlSegment::make(2));
  EXPECT_EQ(ControlSegment::open(UniqueFd(::dup(segment.file())), 3).status().code(), Code::corrupt);
  UniqueFd loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(loose.get(), off_t(segment.bytes())), 0);
  EXPECT_EQ(ControlSegment::open(std::move(loose), 2).status().code(), Code::corrupt);
  EXPECT_EQ(ControlSegment::open(UniqueFd(), 2).status().code(), Code::corrupt);
}

TEST(ControlSegment, RemembersTheLastOperation) {
  const ControlSegment segment = std::move(*ControlSegment::make(2));
  EXPECT_EQ(segment.last(1).name, "");
  segment.note(1, "put", 3, 0, 4096);
  segment.note(1, "a name that is longer than what is kept of it", 4, -1, 8);
  const Operation last = segment.last(1);
  EXPECT_EQ(last.name, std::string("a name that is longer than what is kept of it").substr(0, 39));
  EXPECT_EQ(last.sequence, 4u);
  EXPECT_EQ(last.peer, -1);
  EXPECT_EQ(last.bytes, 8u);
  EXPECT_EQ(segment.last(0).name, "");
}

TEST(ControlSegment, NeverShowsHalfARecord) {
  const ControlSegment segment = std::move(*ControlSegment::make(1));
  const ControlSegment view = second_view(segment);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; !stop; ++i)
      segment.note(0, std::string(20, char('a' + i % 26)), i, int(i % 100), i * 3);
  });
  for (int looks = 0; looks < 20000; ++looks) {
    const Operation seen = view.last(0);
    if (seen.name.empty()) continue;
    ASSERT_EQ(seen.bytes, seen.sequence * 3);
    ASSERT_EQ(seen.peer, int(seen.sequence % 100));
    ASSERT_EQ(seen.name, std::string(20, char('a' + seen.sequence % 26)));
  }
  stop = true;
  writer.join();
}

TEST(ControlSegment, IsRefusedToMoreRanksThanItsMapHas) {
  EXPECT_EQ(ControlSegment::make(RankSlots::kMostRanks + 1).status().code(), Code::unsupported);
}

TEST(ControlSegmentDeathTest, StopsAtRanksThatAreNotThere) {
  const ControlSegment segment = std::move(*ControlSegment::make(1));
  EXPECT_DEATH((void)segment.slots(1), "");
  EXPECT_DEATH((void)segment.slots(-1), "");
}

}  // namespace
}  // namespace sennit::comm
