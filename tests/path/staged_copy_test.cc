// The block programs themselves, sender and receiver in threads. Under ThreadSanitizer this proves their ordering.
#include "path/staged_copy.h"

#include <gtest/gtest.h>

#include <numeric>
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
        StagedSend{src, bytes, chunk, ring, sent.data()}(block);
      });
      threads.emplace_back([&, b] {
        device::HostBlock block(b, blocks, limits);
        StagedReceive{dst, bytes, chunk, ring, taken.data()}(block);
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
