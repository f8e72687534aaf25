#include "path/ring_end.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

namespace sennit::path {
namespace {

TEST(LayOut, GivesEveryWordALineOfItsOwn) {
  const RingShape shape{3, 4, 256};
  std::vector<std::byte> memory(shape.bytes() + 64);
  auto* base = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
  const Ring ring = lay_out(base, shape);
  EXPECT_EQ(ring.slots, base);
  std::set<std::ptrdiff_t> lines;
  for (device::Word* words :
       {ring.produced, ring.consumed, ring.came, ring.stayed, ring.answered, ring.started, ring.withdrawn})
    for (unsigned b = 0; b < shape.blocks; ++b) {
      const auto at = reinterpret_cast<std::byte*>(words + b * device::kWordStride) - base;
      EXPECT_GE(at, std::ptrdiff_t(shape.slots_bytes()));
      EXPECT_LT(at, std::ptrdiff_t(shape.bytes()));
      EXPECT_TRUE(lines.insert(at / 64).second);
    }
  const auto begun = reinterpret_cast<std::byte*>(ring.begun) - base;
  EXPECT_TRUE(lines.insert(begun / 64).second);
  EXPECT_EQ(begun + 64, std::ptrdiff_t(shape.bytes()));
}

struct Ends : testing::Test {
  static constexpr RingShape kShape{2, 4, 1024};
  std::shared_ptr<device::Executor> executor = *device::open_host_executor();
  device::Memory memory = std::move(*executor->allocate_pinned(kShape.bytes()));
  device::Memory source = std::move(*executor->allocate(0, kBytes)),
                 target = std::move(*executor->allocate(1, kBytes));
  std::optional<RingEnd> sender, receiver;
  static constexpr std::uint64_t kBytes = 20'000;

  void SetUp() override {
    std::memset(memory.data(), 0, kShape.bytes());
    const Ring ring = lay_out(memory.data(), kShape);
    sender = std::move(*RingEnd::create(*executor, 0, ring, kShape));
    receiver = std::move(*RingEnd::create(*executor, 1, ring, kShape));
    for (std::uint64_t i = 0; i < kBytes; ++i) source.data()[i] = std::byte((i * 7 + i / 255) & 0xFF);
    std::memset(target.data(), 0, kBytes);
  }
  bool arrived() const { return std::memcmp(source.data(), target.data(), kBytes) == 0; }
};

TEST_F(Ends, ASenderDoesNotWaitForAReceiverThatLeftInVain) {
  const staged_copy::Role leaves{true, nullptr, 1'000'000};
  ASSERT_TRUE(receiver->receive(target.data(), kBytes, 2, 1024, leaves, nullptr).ok());
  ASSERT_TRUE(receiver->lane().synchronize().ok());
  EXPECT_FALSE(arrived());
  const auto begin = std::chrono::steady_clock::now();
  const staged_copy::Role patient{false, target.data(), 12'000'000'000};
  ASSERT_TRUE(sender->send(source.data(), kBytes, 2, 1024, patient, nullptr).ok());
  ASSERT_TRUE(sender->lane().synchronize().ok());
  EXPECT_TRUE(arrived());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10))
      << "looked at an eighth of its patience, 1.5 s";
}

TEST_F(Ends, ASenderNeedsNoReceiverWhereItReachesTheTarget) {
  ASSERT_TRUE(sender->send(source.data(), kBytes, 2, 1024, sender->asks(target.data(), kBytes), nullptr).ok());
  ASSERT_TRUE(sender->lane().synchronize().ok());
  EXPECT_TRUE(arrived());
  // The receiver of that message comes when it is over, and must leave it alone; the next one finds both in step.
  std::memset(target.data(), 1, kBytes);
  ASSERT_TRUE(receiver->receive(target.data(), kBytes, 2, 1024, receiver->helps(true), nullptr).ok());
  ASSERT_TRUE(receiver->lane().synchronize().ok());
  EXPECT_TRUE(
      std::all_of(target.data(), target.data() + kBytes, [](std::byte byte) { return byte == std::byte(1); }));
  ASSERT_TRUE(sender->send(source.data(), kBytes, 2, 1024, sender->asks(nullptr, kBytes), nullptr).ok());
  ASSERT_TRUE(receiver->receive(target.data(), kBytes, 2, 1024, receiver->helps(true), nullptr).ok());
  ASSERT_TRUE(sender->lane().synchronize().ok());
  EXPECT_TRUE(arrived());
}

TEST_F(Ends, AReceiverNeedsNoSenderWhereItReachesTheSource) {
  ASSERT_TRUE(receiver->receive(target.data(), kBytes, 2, 1024, receiver->asks(source.data(), kBytes), nullptr).ok());
  ASSERT_TRUE(receiver->lane().synchronize().ok());
  EXPECT_TRUE(arrived());
}

TEST_F(Ends, AHelperLeavesWhereNobodyStarts) {
  ASSERT_TRUE(receiver->receive(target.data(), kBytes, 2, 1024, receiver->helps(false), nullptr).ok());
  ASSERT_TRUE(receiver->lane().synchronize().ok());
  ASSERT_TRUE(sender->send(source.data(), kBytes, 2, 1024, sender->asks(target.data(), kBytes), nullptr).ok());
  ASSERT_TRUE(sender->lane().synchronize().ok());
  EXPECT_TRUE(arrived());
}

}  // namespace
}  // namespace sennit::path
