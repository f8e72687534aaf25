// The block programs themselves, sender and receiver in threads. Under ThreadSanitizer this proves their ordering.
#include "path/staged_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "device/host/block.h"
#include "path/ring_end.h"

namespace sennit::path {
namespace {

struct Bench {
  RingShape shape;
  std::vector<std::byte> memory;
  std::vector<device::Word> sent, taken;
  Ring ring;

  explicit Bench(RingShape s) : shape(s), memory(s.bytes() + 64), sent(s.blocks), taken(s.blocks) {
    auto* aligned = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
    ring = lay_out(aligned, shape);
  }

  void run(const std::byte* src, std::byte* dst, std::uint64_t bytes, std::uint64_t chunk, unsigned blocks) {
    const device::Limits limits{10'000'000'000, nullptr, nullptr, 0};
    std::vector<std::jthread> threads;
    for (unsigned b = 0; b < blocks; ++b) {
      threads.emplace_back([&, b] {
        device::HostBlock block(b, blocks, limits);
        StagedSend{src, bytes, chunk, ring, sent.data(), {}}(block);
      });
      threads.emplace_back([&, b] {
        device::HostBlock block(b, blocks, limits);
        StagedReceive{dst, bytes, chunk, ring, taken.data(), {}}(block);
      });
    }
  }
};

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = std::byte((i * 131 + i / 251 + seed) & 0xFF);
  return data;
}

TEST(StagedCopy, MovesEverySizeThroughTheSameRing) {
  Bench bench({3, 4, 256});
  unsigned seed = 0;
  for (const std::uint64_t bytes : {1ull, 15ull, 16ull, 17ull, 255ull, 256ull, 768ull, 769ull, 5000ull, 70001ull}) {
    for (const unsigned blocks : {1u, 2u, 3u}) {
      const auto source = pattern(bytes, ++seed);
      std::vector<std::byte> sink(bytes, std::byte(0xEE));
      bench.run(source.data(), sink.data(), bytes, 256, blocks);
      ASSERT_EQ(sink, source) << bytes << " bytes, " << blocks << " blocks";
    }
  }
}

TEST(StagedCopy, CountsCarryAcrossWrapAround) {
  Bench bench({2, 4, 64});
  // As after four thousand million chunks.
  for (unsigned b = 0; b < 2; ++b) {
    bench.sent[b] = bench.taken[b] = 0xFFFFFFFDu - 1;
    bench.ring.produced[b * device::kWordStride] = bench.ring.consumed[b * device::kWordStride] = 0xFFFFFFFDu - 1;
  }
  const auto source = pattern(4096, 3);
  std::vector<std::byte> sink(4096);
  bench.run(source.data(), sink.data(), 4096, 64, 2);
  EXPECT_EQ(sink, source);
  EXPECT_LT(bench.sent[0], 100u);
}

TEST(StagedCopy, TheHostKnowsHowFarCountsAdvance) {
  Bench bench({5, 8, 512});
  for (const std::uint64_t bytes : {1ull, 100ull, 513ull, 4096ull, 33333ull}) {
    const auto before = bench.sent;
    const auto source = pattern(bytes, 9);
    std::vector<std::byte> sink(bytes);
    bench.run(source.data(), sink.data(), bytes, 512, 5);
    for (unsigned b = 0; b < 5; ++b)
      EXPECT_EQ(bench.sent[b] - before[b], chunk_count(bytes, 512, b, 5)) << bytes << " bytes, block " << b;
  }
}

/// Messages whose helper comes when it comes: the side that asks never waits long, each message arrives once, and
/// nobody touches one that is done.
void move_with_a_late_helper(bool put, std::uint64_t patience_ns, std::uint64_t most_delay_us) {
  constexpr unsigned kBlocks = 2;
  constexpr int kMessages = 60;
  const std::uint64_t chunk = 64;
  Bench bench({kBlocks, 4, chunk});
  std::mt19937 random(static_cast<unsigned>(patience_ns + most_delay_us + (put ? 1 : 0)));
  std::vector<std::vector<std::byte>> sources, sinks;
  std::vector<std::array<std::uint64_t, kBlocks>> delays(kMessages);
  for (int m = 0; m < kMessages; ++m) {
    sources.push_back(pattern(1 + random() % 2000, unsigned(m)));
    sinks.emplace_back(sources.back().size(), std::byte(0xEE));
    for (auto& delay : delays[std::size_t(m)]) delay = most_delay_us == 0 ? 0 : random() % most_delay_us;
  }
  const device::Limits limits{20'000'000'000, nullptr, nullptr, 0};
  const auto side = [&](int m, bool helps, unsigned b) {
    device::HostBlock block(b, kBlocks, limits);
    auto& source = sources[std::size_t(m)];
    auto& sink = sinks[std::size_t(m)];
    const bool sends = put != helps;
    const staged_copy::Role role{helps, helps ? nullptr : put ? sink.data() : source.data(), patience_ns};
    if (sends) StagedSend{source.data(), source.size(), chunk, bench.ring, bench.sent.data(), role}(block);
    if (!sends) StagedReceive{sink.data(), sink.size(), chunk, bench.ring, bench.taken.data(), role}(block);
  };
  std::vector<std::jthread> helpers;
  for (unsigned b = 0; b < kBlocks; ++b)
    helpers.emplace_back([&, b] {
      for (int m = 0; m < kMessages; ++m) {
        std::this_thread::sleep_for(std::chrono::microseconds(delays[std::size_t(m)][b]));
        side(m, true, b);
      }
    });
  for (int m = 0; m < kMessages; ++m) {
    {
      std::vector<std::jthread> asking;
      for (unsigned b = 0; b < kBlocks; ++b) asking.emplace_back([&, b] { side(m, false, b); });
    }
    auto& source = sources[std::size_t(m)];
    auto& sink = sinks[std::size_t(m)];
    ASSERT_EQ(sink, source) << "message " << m;
    std::ranges::fill(sink, std::byte(0xDD));
    std::ranges::fill(source, std::byte(0xCC));
  }
  helpers.clear();
  for (const auto& sink : sinks)
    ASSERT_TRUE(std::ranges::all_of(sink, [](std::byte byte) { return byte == std::byte(0xDD); }));
  EXPECT_EQ(bench.sent, bench.taken);
}

TEST(StagedCopy, DoesWithoutAHelperThatIsLate) {
  for (const bool put : {true, false}) {
    move_with_a_late_helper(put, 0, 0);
    move_with_a_late_helper(put, 20'000, 200);
    move_with_a_late_helper(put, 100'000, 2'000);
    move_with_a_late_helper(put, 5'000'000'000, 500);
  }
}

TEST(StagedCopy, PartsCoverTheMessageOnce) {
  for (const std::uint64_t bytes : {0ull, 1ull, 16ull, 1000ull, 65536ull, 65537ull}) {
    std::uint64_t at = 0;
    for (unsigned b = 0; b < 7; ++b) {
      const auto part = staged_copy::part_of(bytes, b, 7);
      EXPECT_EQ(part.begin, at);
      EXPECT_LE(part.begin, part.end);
      at = part.end;
    }
    EXPECT_EQ(at, bytes);
  }
}

}  // namespace
}  // namespace sennit::path
