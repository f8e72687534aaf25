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
  EXPECT_EQ(fault.wait_id, 5u);
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

TEST(HostBlock, PacketsCarryAnyNumberOfBytesAndAreClearedOnceRead) {
  for (const std::uint64_t bytes : {0, 1, 7, 8, 9, 800, 1003}) {
    std::vector<Packet> packets(packets_of(bytes));
    std::vector<std::byte> source(bytes + 1, std::byte{7}), sink(bytes + 1, std::byte{1});
    for (std::uint64_t i = 0; i < bytes; ++i) source[i] = std::byte(i * 5 + 1);
    std::jthread sender([&] {
      HostBlock block(0, 1, patient());
      block.send_packets(1,
                         [&](unsigned) -> PacketSend {
                           return {source.data(), packets.data(), bytes};
                         },
                         {tag_of(3), 0});
    });
    HostBlock block(0, 1, patient());
    const auto receive = [&](unsigned) -> PacketReceive { return {packets.data(), sink.data(), bytes, 1}; };
    ASSERT_TRUE(block.receive_packets(1, receive, {tag_of(3), 0}, 5));
    sender.join();  // packets order nothing but themselves
    EXPECT_TRUE(std::equal(sink.begin(), sink.begin() + std::ptrdiff_t(bytes), source.begin())) << bytes;
    EXPECT_EQ(sink[bytes], std::byte{1}) << "written beyond " << bytes;
    for (const Packet& packet : packets) EXPECT_EQ(packet.tag0 | packet.tag1, 0u);
  }
}

TEST(HostBlock, APacketThatDoesNotComeNamesItsSender) {
  Fault fault{};
  Packet packet{};
  HostBlock block(0, 1, {20'000'000, nullptr, &fault, 1});
  std::uint64_t to = 0;
  const auto receive = [&](unsigned) -> PacketReceive { return {&packet, &to, 8, 2}; };
  EXPECT_FALSE(block.receive_packets(1, receive, {tag_of(1), 0}, 9));
  EXPECT_EQ(fault.wait_id, 9u);
  EXPECT_EQ(fault.peer, 3u);
}

TEST(HostBlock, SignalsAndWaitsOfSeveralPeers) {
  std::vector<std::uint64_t> data(4, 0);
  std::vector<Word> words(4 * kWordStride, 0);
  std::vector<std::jthread> peers;
  for (unsigned peer = 0; peer < 4; ++peer)
    peers.emplace_back([&, peer] {
      HostBlock block(0, 1, patient());
      data[peer] = peer + 10;
      block.signal_each(4, [&](unsigned i) { return i == peer ? Signal{&words[i * kWordStride], 1} : Signal{}; });
    });
  HostBlock block(0, 1, patient());
  ASSERT_TRUE(block.await_each(4, [&](unsigned i) { return Wait{&words[i * kWordStride], 1, 3, int(i)}; }));
  for (unsigned peer = 0; peer < 4; ++peer) EXPECT_EQ(data[peer], peer + 10);
}

TEST(HostBlock, WhicheverWaitEndsFirstIsToldOf) {
  std::vector<std::uint64_t> data(4, 0);
  std::vector<Word> words(4 * kWordStride, 0);
  HostBlock block(0, 1, patient());
  std::uint32_t left = 0b1101;  // nobody is asked for number 1
  const auto ask = [&](unsigned i) {
    return (left >> i & 1) != 0 ? Wait{&words[i * kWordStride], 1, 3, int(i)} : Wait{};
  };
  std::vector<std::jthread> peers;
  for (const unsigned peer : {3u, 0u, 2u})
    peers.emplace_back([&, peer] {
      HostBlock other(0, 1, patient());
      data[peer] = peer + 10;
      other.signal(&words[peer * kWordStride], 1);
    });
  while (left != 0) {
    const std::uint32_t over = block.await_any(4, ask);
    ASSERT_NE(over, 0u);
    ASSERT_EQ(over & ~left, 0u);
    for (unsigned i = 0; i < 4; ++i)
      if ((over >> i & 1) != 0) {
        EXPECT_EQ(data[i], i + 10) << "what was written before the signal";
      }
    left &= ~over;
  }
  EXPECT_EQ(block.await_any(4, ask), 0u) << "nothing is left to wait for";
}

TEST(HostBlock, WhereNoWaitEndsTheFirstIsNamed) {
  std::vector<Word> words(2 * kWordStride, 0);
  Fault fault{};
  HostBlock block(0, 1, {20'000'000, nullptr, &fault, 7});
  const auto ask = [&](unsigned i) { return Wait{&words[i * kWordStride], 5 + i, 3, int(i) + 1}; };
  EXPECT_EQ(block.await_any(2, ask), 0u);
  EXPECT_EQ(fault.raised, 1u);
  EXPECT_EQ(fault.expected, 5u);
  EXPECT_EQ(fault.peer, 2u) << "1 + the rank";
}

}  // namespace
}  // namespace sennit::device
