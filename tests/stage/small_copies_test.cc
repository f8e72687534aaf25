#include "stage/small_copies.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "device/host/delays.h"

namespace sennit::stage {
namespace {

std::vector<std::byte> random_bytes(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> data(bytes);
  for (std::byte& one : data) one = std::byte(random());
  return data;
}

/// Copies of these lengths, there and back, by whichever way; every byte is looked at. Returns how many the block
/// did.
std::uint64_t copy_all(SmallCopies& copies, device::Lane& engine, const std::vector<std::uint64_t>& lengths,
                       std::byte* gpu, unsigned seed) {
  const std::uint64_t before = copies.done();
  for (const std::uint64_t bytes : lengths) {
    const auto sent = random_bytes(bytes, ++seed);
    std::vector<std::byte> came(bytes + 1, std::byte(0x5A));
    std::memset(gpu, 0x3C, bytes + 1);
    auto up = copies.to_gpu(gpu, sent.data(), bytes);
    EXPECT_TRUE(up.ok());
    if (!*up) {
      EXPECT_TRUE(engine.copy(gpu, sent.data(), bytes).ok() && engine.synchronize().ok());
    }
    EXPECT_EQ(gpu[bytes], std::byte(0x3C)) << bytes;
    EXPECT_EQ(std::memcmp(gpu, sent.data(), bytes), 0) << bytes;
    auto down = copies.to_host(came.data(), gpu, bytes);
    EXPECT_TRUE(down.ok());
    if (!*down) {
      EXPECT_TRUE(engine.copy(came.data(), gpu, bytes).ok() && engine.synchronize().ok());
    }
    EXPECT_EQ(came[bytes], std::byte(0x5A)) << bytes;
    EXPECT_EQ(std::memcmp(came.data(), sent.data(), bytes), 0) << bytes;
  }
  return copies.done() - before;
}

class SmallCopiesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto executor = device::open_host_executor();
    ASSERT_TRUE(executor.ok());
    executor_ = *executor;
    auto lane = executor_->lane(0);
    auto memory = executor_->allocate(0, SmallCopies::kMostToHost + 64);
    ASSERT_TRUE(lane.ok() && memory.ok());
    engine_ = std::move(*lane);
    memory_ = std::move(*memory);
  }
  /// A block that stays long enough for machines as slow as they like.
  static constexpr std::chrono::seconds kForLong{1};
  /// Copies until a block is there; so many were needed.
  int until_attended(SmallCopies& copies) {
    for (int i = 0; i < 100'000; ++i)
      if (copy_all(copies, *engine_, {8}, memory_.data(), unsigned(i)) != 0) return i;
    ADD_FAILURE() << "no block comes";
    return -1;
  }

  std::shared_ptr<device::Executor> executor_;
  std::unique_ptr<device::Lane> engine_;
  device::Memory memory_;
};

TEST_F(SmallCopiesTest, CopiesEveryLengthBothWays) {
  SmallCopies copies(executor_, 0, kForLong);
  until_attended(copies);
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t bytes = 1; bytes <= 40; ++bytes) lengths.push_back(bytes);
  for (const std::uint64_t bytes : {63, 64, 65, 231, 232, 233, 240, 1023, 1024}) lengths.push_back(bytes);
  for (const std::uint64_t place : {0, 1, 4, 7, 8, 16})
    EXPECT_EQ(copy_all(copies, *engine_, lengths, memory_.data() + place, 7), 2 * lengths.size());
  EXPECT_EQ(copy_all(copies, *engine_, {4096, 8191, 8192}, memory_.data(), 7), 6u);
}

TEST_F(SmallCopiesTest, LeavesWhatIsTooLongOrNothingToTheCaller) {
  SmallCopies copies(executor_, 0, kForLong);
  until_attended(copies);
  std::vector<std::byte> host(SmallCopies::kMostToHost + 1);
  for (const std::uint64_t bytes : {std::uint64_t(0), SmallCopies::kMostToGpu + 1})
    EXPECT_FALSE(*copies.to_gpu(memory_.data(), host.data(), bytes));
  for (const std::uint64_t bytes : {std::uint64_t(0), SmallCopies::kMostToHost + 1})
    EXPECT_FALSE(*copies.to_host(host.data(), memory_.data(), bytes));
}

TEST_F(SmallCopiesTest, SaysHowManyGoTogether) {
  const auto pieces = [](const std::vector<std::uint64_t>& lengths) {
    std::vector<SmallCopies::Piece> made;
    for (const std::uint64_t bytes : lengths) made.push_back({nullptr, nullptr, bytes});
    return SmallCopies::together(made);
  };
  EXPECT_EQ(pieces({}), 0u);
  EXPECT_EQ(pieces({8193, 8}), 0u);
  EXPECT_EQ(pieces({8192, 8}), 1u) << "there is room for so many bytes in all";
  EXPECT_EQ(pieces({8, 8193}), 1u);
  EXPECT_EQ(pieces({4095, 4096, 1}), 2u) << "each begins at a multiple of 16";
  EXPECT_EQ(pieces(std::vector<std::uint64_t>(20, 8)), 8u);
}

TEST_F(SmallCopiesTest, CopiesSeveralTogether) {
  SmallCopies copies(executor_, 0, kForLong);
  until_attended(copies);
  auto memory = executor_->allocate(0, 16 << 10);
  ASSERT_TRUE(memory.ok());
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const bool few = round % 3 == 0;
    std::vector<std::vector<std::byte>> sent;
    std::vector<SmallCopies::Piece> pieces;
    std::memset(memory->data(), 0x3C, 16 << 10);
    std::byte* place = memory->data() + random() % 32;
    for (unsigned k = 0, count = 1 + random() % 8; k < count; ++k) {
      sent.push_back(random_bytes(few ? random() % 18 : random() % 1009, unsigned(round) + k));
      pieces.push_back({place, sent.back().data(), sent.back().size()});
      place += sent.back().size() + 1 + random() % 40;
    }
    if (pieces.size() == 1 && pieces[0].bytes == 0) continue;
    const auto done = copies.to_gpu(pieces);
    ASSERT_TRUE(done.ok());
    ASSERT_TRUE(*done);
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      auto* const there = static_cast<std::byte*>(pieces[k].gpu);
      EXPECT_TRUE(sent[k].empty() || std::memcmp(there, sent[k].data(), sent[k].size()) == 0) << k;
      EXPECT_EQ(there[sent[k].size()], std::byte(0x3C)) << k;
    }
  }
  std::vector<SmallCopies::Piece> too_many(9, {memory->data(), memory->data(), 0});
  EXPECT_FALSE(*copies.to_gpu(too_many));
  EXPECT_FALSE(*copies.to_gpu(std::span<const SmallCopies::Piece>()));
}

TEST_F(SmallCopiesTest, CopiesFromAnotherGpu) {
  SmallCopies copies(executor_, 0, kForLong);
  auto there = executor_->allocate(1, SmallCopies::kMostBetween + 64),
       here = executor_->allocate(0, SmallCopies::kMostBetween + 64);
  ASSERT_TRUE(there.ok() && here.ok());
  bool asked = false;
  const auto from = [&]() -> const void* {
    asked = true;
    return there->data() + 3;
  };
  EXPECT_FALSE(*copies.between(here->data(), 8, from));
  EXPECT_FALSE(asked) << "no block is there yet";
  until_attended(copies);
  for (const std::uint64_t bytes : {std::uint64_t(1), std::uint64_t(8), std::uint64_t(232), std::uint64_t(233),
                                    std::uint64_t(9001), SmallCopies::kMostBetween}) {
    const auto sent = random_bytes(bytes, unsigned(bytes));
    std::memcpy(there->data() + 3, sent.data(), bytes);
    std::memset(here->data(), 0x3C, bytes + 6);
    EXPECT_TRUE(*copies.between(here->data() + 5, bytes, from));
    EXPECT_EQ(std::memcmp(here->data() + 5, sent.data(), bytes), 0) << bytes;
    EXPECT_EQ(here->data()[4], std::byte(0x3C)) << bytes;
    EXPECT_EQ(here->data()[5 + bytes], std::byte(0x3C)) << bytes;
  }
  EXPECT_FALSE(*copies.between(here->data(), 0, from));
  EXPECT_FALSE(*copies.between(here->data(), SmallCopies::kMostBetween + 1, from));
  EXPECT_FALSE(*copies.between(here->data(), 8, [] { return static_cast<const void*>(nullptr); }));
}

TEST_F(SmallCopiesTest, LaunchesNothingForCopiesFarApart) {
  SmallCopies copies(executor_, 0, kForLong);
  std::uint64_t word = 0;
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(*copies.to_host(&word, memory_.data(), sizeof word));
    std::this_thread::sleep_for(2 * CloseRun::kClose);
  }
  EXPECT_EQ(copies.done(), 0u);
}

// The block leaves at any moment, also at those where a copy is just being asked for: none is lost, none done twice.
// Once a block that stayed since it saw a copy asked for, while the host did not see it about to leave, left after
// it, and the host waited for the next copy for ever.
TEST_F(SmallCopiesTest, LosesNothingWhileBlocksComeAndGo) {
  std::mt19937 random(11);
  device::Delays::set(5);
  std::uint64_t done = 0;
  for (int round = 0; round < 200; ++round) {  // each has several launches before it wants to see longer runs
    SmallCopies copies(executor_, 0,
                       std::chrono::microseconds(random() % 4 == 0 ? 1 + random() % 200 : 1 + random() % 20));
    for (int i = 0; i < 40; ++i) {
      done += copy_all(copies, *engine_, {1 + random() % 64}, memory_.data(), unsigned(i));
      if (random() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
    }
  }
  device::Delays::set(0);
  EXPECT_GT(done, 0u);
}

TEST_F(SmallCopiesTest, ServesSeveralThreads) {
  SmallCopies copies(executor_, 0, std::chrono::milliseconds(1));
  std::array<device::Memory, 3> memories;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    auto memory = executor_->allocate(0, 4096);
    ASSERT_TRUE(memory.ok());
    memories[std::size_t(t)] = std::move(*memory);
    threads.emplace_back([&, t] {
      auto engine = executor_->lane(0);
      ASSERT_TRUE(engine.ok());
      for (int i = 0; i < 300; ++i)
        copy_all(copies, **engine, {8, 100}, memories[std::size_t(t)].data(), unsigned(i * 3 + t));
    });
  }
}

}  // namespace
}  // namespace sennit::stage
