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

struct Pace {
  std::uint64_t asking_patience_ns, helping_patience_ns, most_delay_us;
  device::Word chunks_before = 0;  ///< counts stand here when the first message comes
};

/// Messages whose two sides come when they come: neither waits long for the other, each message arrives once, and
/// nobody touches one that is done.
void move_with_sides_apart(bool put, const Pace& pace) {
  constexpr unsigned kBlocks = 2;
  constexpr int kMessages = 60;
  const std::uint64_t chunk = 64;
  Bench bench({kBlocks, 4, chunk});
  const Ring& ring = bench.ring;
  for (unsigned b = 0; b < kBlocks; ++b) {
    bench.sent[b] = bench.taken[b] = pace.chunks_before;
    for (device::Word* words :
         {ring.produced, ring.consumed, ring.came, ring.stayed, ring.answered, ring.started, ring.withdrawn})
      words[b * device::kWordStride] = pace.chunks_before;
  }
  std::mt19937 random(static_cast<unsigned>(pace.asking_patience_ns + pace.most_delay_us + (put ? 1 : 0)));
  std::vector<std::vector<std::byte>> sources, sinks;
  std::vector<std::array<std::array<std::uint64_t, kBlocks>, 2>> delays(kMessages);  // of who asks, who helps
  for (int m = 0; m < kMessages; ++m) {
    sources.push_back(pattern(1 + random() % 2000, unsigned(m)));
    sinks.emplace_back(sources.back().size(), std::byte(0xEE));
    for (auto& side : delays[std::size_t(m)])
      for (auto& delay : side) delay = random() % (pace.most_delay_us + 1);
  }
  const device::Limits limits{20'000'000'000, nullptr, nullptr, 0};
  const auto side = [&](int m, bool helps, unsigned b) {
    device::HostBlock block(b, kBlocks, limits);
    auto& source = sources[std::size_t(m)];
    auto& sink = sinks[std::size_t(m)];
    const bool sends = put != helps;
    const staged_copy::Role role{helps,
                                 helps ? nullptr
                                 : put ? sink.data()
                                       : source.data(),
                                 helps ? pace.helping_patience_ns : pace.asking_patience_ns};
    std::this_thread::sleep_for(std::chrono::microseconds(delays[std::size_t(m)][helps ? 1 : 0][b]));
    if (sends) StagedSend{source.data(), source.size(), chunk, ring, bench.sent.data(), role}(block);
    if (!sends) StagedReceive{sink.data(), sink.size(), chunk, bench.ring, bench.taken.data(), role}(block);
  };
  std::vector<std::jthread> helpers;
  for (unsigned b = 0; b < kBlocks; ++b)
    helpers.emplace_back([&, b] {
      for (int m = 0; m < kMessages; ++m) side(m, true, b);
    });
  for (int m = 0; m < kMessages; ++m) {
    {
      std::vector<std::jthread> asking;
      for (unsigned b = 0; b < kBlocks; ++b) asking.emplace_back([&, b] { side(m, false, b); });
    }
    auto& source = sources[std::size_t(m)];
    auto& sink = sinks[std::size_t(m)];
    ASSERT_TRUE(sink == source) << "message " << m << " of " << source.size() << " bytes, put " << put
                                << ", patience " << pace.asking_patience_ns << ", " << pace.helping_patience_ns;
    std::ranges::fill(sink, std::byte(0xDD));
    std::ranges::fill(source, std::byte(0xCC));
  }
  helpers.clear();
  for (const auto& sink : sinks)
    ASSERT_TRUE(std::ranges::all_of(sink, [](std::byte byte) { return byte == std::byte(0xDD); }));
  EXPECT_EQ(bench.sent, bench.taken);
}

TEST(StagedCopy, DoesWithoutASideThatIsLate) {
  const std::vector<Pace> paces{{0, 0, 0},
                                {0, 1, 0},
                                {20'000, 20'000, 200},
                                {100'000, 0, 2'000},
                                {100'000, 500'000, 2'000},
                                {5'000'000'000, 0, 500},
                                {50'000, 5'000'000'000, 500},
                                {100'000, 500'000, 1'000, 0xFFFFFF00u},
                                {0, 1, 100, 0xFFFFFF80u}};
  for (const bool put : {true, false})
    for (const Pace& pace : paces) move_with_sides_apart(put, pace);
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
