// Small copies by a block that attends, on a GPU: every byte, beside a kernel's and an engine's view of the memory.
#include "stage/small_copies.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace sennit::stage {
namespace {

/// By an engine; done when it returns, which cudaMemcpy() does not promise.
void by_engine(void* to, const void* from, std::uint64_t bytes) {
  ASSERT_EQ(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
}

TEST(SmallCopies, AreWholeOnAGpu) {
  auto executor = device::open_cuda_executor();
  ASSERT_TRUE(executor.ok()) << executor.status().text();
  SmallCopies copies(*executor, 0);
  std::byte* gpu = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&gpu), SmallCopies::kMostToHost + 64), cudaSuccess);
  std::mt19937 random(3);
  std::vector<std::byte> sent(SmallCopies::kMostToHost), came(SmallCopies::kMostToHost),
      seen(SmallCopies::kMostToHost);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bytes = 1 + random() % (i % 4 == 0 ? SmallCopies::kMostToHost : 64), place = random() % 32;
    for (std::uint64_t b = 0; b < bytes; b += 1 + bytes / 16) sent[b] = std::byte(random());
    auto up = copies.to_gpu(gpu + place, sent.data(), bytes);
    ASSERT_TRUE(up.ok()) << up.status().text();
    if (!*up) by_engine(gpu + place, sent.data(), bytes);
    if (i % 16 == 0) {  // what an engine finds
      by_engine(seen.data(), gpu + place, bytes);
      ASSERT_EQ(std::memcmp(seen.data(), sent.data(), bytes), 0) << i;
      std::memset(sent.data(), i, bytes);  // and what the block finds of an engine's
      by_engine(gpu + place, sent.data(), bytes);
    }
    auto down = copies.to_host(came.data(), gpu + place, bytes);
    ASSERT_TRUE(down.ok()) << down.status().text();
    if (!*down) by_engine(came.data(), gpu + place, bytes);
    ASSERT_EQ(std::memcmp(came.data(), sent.data(), bytes), 0) << i << ": " << bytes << " bytes at " << place;
  }
  EXPECT_GT(copies.done(), 0u);
  EXPECT_EQ(cudaFree(gpu), cudaSuccess);
}

TEST(SmallCopies, SeveralTogetherAreWholeOnAGpu) {
  auto executor = device::open_cuda_executor();
  ASSERT_TRUE(executor.ok()) << executor.status().text();
  SmallCopies copies(*executor, 0);
  constexpr std::size_t kRoom = 16 << 10;
  std::byte* gpu = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&gpu), kRoom), cudaSuccess);
  std::mt19937 random(4);
  std::vector<std::byte> sent(kRoom), seen(kRoom);
  for (int i = 0; i < 10'000; ++i) {
    for (std::size_t b = 0; b < kRoom; b += 61) sent[b] = std::byte(random());
    std::vector<SmallCopies::Piece> pieces;
    const std::size_t most = i % 2 == 0 ? 16 : 1000, grain = i % 3 == 0 ? 1 : 16;
    // Aligned ones are copied at once, others one by one.
    std::size_t at = random() % 4 * grain;
    const std::size_t count = 2 + random() % 7;
    while (pieces.size() < count) {
      pieces.push_back({gpu + at, sent.data() + at, 1 + random() % most});
      at += (pieces.back().bytes + grain) / grain * grain;
    }
    const auto done = copies.to_gpu(pieces);
    ASSERT_TRUE(done.ok()) << done.status().text();
    if (!*done)
      for (const auto& piece : pieces) by_engine(piece.gpu, piece.host, piece.bytes);
    by_engine(seen.data(), gpu, kRoom);
    for (const auto& piece : pieces) {
      const auto place = std::size_t(static_cast<std::byte*>(piece.gpu) - gpu);
      ASSERT_EQ(std::memcmp(seen.data() + place, sent.data() + place, piece.bytes), 0) << i;
    }
  }
  EXPECT_GT(copies.done(), 0u);
  EXPECT_EQ(cudaFree(gpu), cudaSuccess);
}

/// What the block finds in memory that others write to between its copies: it may not see what it saw before.
TEST(SmallCopies, FromAnotherGpuAreWhole) {
  auto executor = device::open_cuda_executor();
  ASSERT_TRUE(executor.ok()) << executor.status().text();
  SmallCopies copies(*executor, 0);
  const int last = static_cast<int>((*executor)->devices().size()) - 1;
  ASSERT_TRUE((*executor)->reaches(0, last));
  auto here_memory = (*executor)->allocate(0, SmallCopies::kMostBetween + 64);
  auto there_memory = (*executor)->allocate(last, SmallCopies::kMostBetween + 64);
  ASSERT_TRUE(here_memory.ok() && there_memory.ok());
  std::byte *const here = here_memory->data(), *const there = there_memory->data();
  std::mt19937 random(5);
  std::vector<std::byte> sent(SmallCopies::kMostBetween), seen(SmallCopies::kMostBetween);
  for (int i = 0; i < 5'000; ++i) {
    const std::uint64_t bytes = 1 + random() % (i % 4 == 0 ? SmallCopies::kMostBetween : 2048), place = random() % 32;
    for (std::uint64_t b = 0; b < bytes; b += 1 + bytes / 64) sent[b] = std::byte(random());
    by_engine(there + place, sent.data(), bytes);
    // Closely behind each other, whatever an engine takes.
    std::uint64_t word = 0;
    for (int k = 0; k < 8; ++k) ASSERT_TRUE(copies.to_host(&word, here, sizeof word).ok());
    const auto done = copies.between(here + place / 2, bytes, [&] { return there + place; });
    ASSERT_TRUE(done.ok()) << done.status().text();
    if (!*done) by_engine(here + place / 2, there + place, bytes);
    by_engine(seen.data(), here + place / 2, bytes);
    ASSERT_EQ(std::memcmp(seen.data(), sent.data(), bytes), 0) << i << ": " << bytes << " bytes at " << place;
  }
  EXPECT_GT(copies.done(), 0u);
}

}  // namespace
}  // namespace sennit::stage
