// The contract of device/block.h, on threads. Run under ThreadSanitizer this tests the memory ordering it promises.
#include "device/host/block.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sennit::device {
namespace {

Limits patient() {
  return {10'000'000'000, nullptr, nullptr, 1};
}

TEST(HostBlock, SignalPublishesWhatWasCopied) {
  std::vector<std::byte> source(1 << 16), middle(1 << 16), sink(1 << 16);
  Word word = 0;
  for (int round = 1; round <= 50; ++round) {
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = std::byte(i * 7 + static_cast<std::size_t>(round));
    std::jthread sender([&] {
      HostBlock block(0, 1, patient());
      block.copy(middle.data(), source.data(), source.size());
      block.signal(&word, static_cast<Word>(round));
    });
    HostBlock block(0, 1, patient());
    ASSERT_TRUE(block.await(&word, static_cast<Word>(round), 1));
    block.copy(sink.data(), middle.data(), middle.size());
    ASSERT_EQ(sink, source) << "round " << round;
  }
}

TEST(HostBlock, CountsCompareRightAcrossWrapAround) {
  EXPECT_TRUE(reached(5, 5));
  EXPECT_TRUE(reached(2, 0xFFFFFFFFu));
  EXPECT_FALSE(reached(0xFFFFFFFFu, 2));
  EXPECT_TRUE(reached(0, Word(1) - 4)) << "an empty ring of four slots has room for its first chunk";
}

TEST(HostBlock, AwaitGivesUpAtTheLimitAndSaysWhere) {
  Fault fault{};
  Word word = 3;
  HostBlock block(2, 4, {20'000'000, nullptr, &fault, 77});
  EXPECT_FALSE(block.await(&word, 9, 5));
  EXPECT_EQ(fault.raised, 1u);
  EXPECT_EQ(fault.aborted, 0u);
  EXPECT_EQ(fault.block, 2u);
  EXPECT_EQ(fault.site, 5u);
  EXPECT_EQ(fault.expected, 9u);
  EXPECT_EQ(fault.seen, 3u);
  EXPECT_EQ(fault.sequence, 77u);
}

TEST(HostBlock, AbortEndsAWaitAndTheFirstFaultIsKept) {
  Fault fault{};
  Word word = 0, abort = 0;
  std::jthread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic_ref(abort).store(1);
  });
  HostBlock first(0, 2, {60'000'000'000, &abort, &fault, 1});
  EXPECT_FALSE(first.await(&word, 1, 1));
  HostBlock second(1, 2, {60'000'000'000, &abort, &fault, 2});
  EXPECT_FALSE(second.await(&word, 1, 2));
  EXPECT_EQ(fault.aborted, 1u);
  EXPECT_EQ(fault.block, 0u);
}

}  // namespace
}  // namespace sennit::device
