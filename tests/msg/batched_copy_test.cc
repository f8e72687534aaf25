#include "msg/batched_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "device/host/block.h"
#include "device/host/delays.h"

namespace sennit::msg {
namespace {

using Copy = BatchedCopy::Copy;

const device::Limits kWaits{5'000'000'000, nullptr, nullptr, 0};

/// A block that does something before it says that it begins.
class LateBlock : public device::HostBlock {
 public:
  explicit LateBlock(std::function<void()> before) : HostBlock(0, 1, kWaits), before_(std::move(before)) {}
  bool meet(device::Word* mine, device::Word value, device::Word* theirs) {
    before_();
    return HostBlock::meet(mine, value, theirs);
  }

 private:
  std::function<void()> before_;
};

/// One message of 8 bytes, 7, to a place that holds 1.
struct One {
  std::uint64_t from = 7, to = 1;
  device::Word completion = 0;
  BatchedCopyKernel::Sheet sheet;
  BatchedCopyKernel program;
  device::HostBlock host{0, 1, kWaits};

  explicit One(device::Word number) {
    program.sheet = &sheet;
    program.number = number;
    program.copies[0] = {&to, &from, sizeof to, &completion, 5};
  }
  /// The host takes the launch back; whether no block has begun it.
  bool take_back() { return !host.meet(&sheet.taken_back, program.number, &sheet.begun[0]); }
  void run(const std::function<void()>& before) {
    LateBlock block(before);
    program(block);
  }
};

TEST(BatchedCopyKernel, ABlockThatFindsItsLaunchTakenBackCopiesNothingAndSaysSo) {
  One one(3);
  bool free = false;
  one.run([&] { free = one.take_back(); });
  EXPECT_TRUE(free);
  EXPECT_EQ(one.sheet.declined[0], 3u);
  EXPECT_EQ(one.to, 1u);
  EXPECT_EQ(one.completion, 0u);
}

TEST(BatchedCopyKernel, WhoeverTakesBackLaterFindsThatABlockHasBegun) {
  One one(3);
  one.run([] {});
  EXPECT_FALSE(one.take_back());
  EXPECT_EQ(one.sheet.declined[0], 0u);
  EXPECT_EQ(one.to, 7u);
  EXPECT_EQ(one.completion, 5u);
}

TEST(BatchedCopyKernel, ALaunchBeforeThatWasTakenBackSaysNothingOfThisOne) {
  One one(4);
  one.sheet.taken_back = 3;
  one.run([] {});
  EXPECT_EQ(one.to, 7u);
}

std::vector<Copy> of_lengths(const std::vector<std::uint64_t>& lengths) {
  std::vector<Copy> copies;
  for (const std::uint64_t bytes : lengths) copies.push_back({nullptr, nullptr, bytes, nullptr, 0});
  return copies;
}
bool pays(const std::vector<std::uint64_t>& lengths) {
  return BatchedCopy::pays(of_lengths(lengths));
}

TEST(BatchedCopy, PaysForManyMessagesThatABlockEachDoesSoonEnough) {
  EXPECT_FALSE(pays({}));
  EXPECT_FALSE(pays({8192}));
  EXPECT_FALSE(pays({8192, 8192}));
  EXPECT_TRUE(pays({8192, 8192, 8192}));
  EXPECT_TRUE(pays(std::vector<std::uint64_t>(64, 1 << 20)));
  EXPECT_FALSE(pays(std::vector<std::uint64_t>(3, 1 << 20)));  // an engine does one sooner than a block
  EXPECT_TRUE(pays(std::vector<std::uint64_t>(16, 1 << 20)));
  EXPECT_FALSE(pays({8192, 8192, 8192, 2 << 20}));
  EXPECT_FALSE(pays(std::vector<std::uint64_t>(BatchedCopyKernel::kMost + 1, 8192)));
}

class ManyCopiesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto executor = device::open_host_executor();
    ASSERT_TRUE(executor.ok());
    executor_ = *executor;
  }

  /// Messages of random lengths from `from_` to `to_`, whose words are `value`.
  std::vector<Copy> messages(std::size_t count, device::Word value, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::uint64_t> lengths;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < count; ++i) {
      lengths.push_back(random() % 5000);
      all += lengths.back();
    }
    from_.resize(all);
    for (std::byte& one : from_) one = std::byte(random());
    to_.assign(all, std::byte{0});
    words_.resize(count);
    std::vector<Copy> copies;
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      copies.push_back({to_.data() + at, from_.data() + at, lengths[i], &words_[i], value});
      at += lengths[i];
    }
    return copies;
  }
  /// Looks at it until all words are told.
  void wait(BatchedCopy::Launch& launch, device::Word value) {
    const auto deadline = BatchedCopy::Clock::now() + std::chrono::seconds(60);
    while (!std::ranges::all_of(words_, [&](device::Word& word) {
      return device::reached(std::atomic_ref(word).load(std::memory_order_acquire), value);
    })) {
      ASSERT_TRUE(launch.look().ok());
      ASSERT_LT(BatchedCopy::Clock::now(), deadline);
    }
  }

  std::shared_ptr<device::Executor> executor_;
  std::vector<std::byte> from_, to_;
  std::vector<device::Word> words_;
};

TEST_F(ManyCopiesTest, CopiesEachMessageAndTellsOfIt) {
  BatchedCopy many(*executor_, 0, std::chrono::seconds(60));
  for (device::Word value = 1; value <= 40; ++value) {
    const auto copies = messages(3 + value % 20, value, value);
    auto launch = many.begin(copies);
    ASSERT_TRUE(launch.ok());
    ASSERT_NE(*launch, nullptr) << "of a launch that is over the sheet is used again";
    wait(**launch, value);
    EXPECT_EQ(to_, from_);
  }
  EXPECT_EQ(many.taken_back(), 0u);
}

TEST_F(ManyCopiesTest, LeavesToEnginesWhatTheyDoSooner) {
  BatchedCopy many(*executor_, 0);
  const auto one = many.begin(messages(1, 1, 1));
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(*one, nullptr);
}

// What was taken back is copied once, by an engine: the program has the memory again when the word is told, and no
// block may write there later.
TEST_F(ManyCopiesTest, WhatIsTakenBackIsWrittenOnce) {
  constexpr int kTimes = 60;
  std::uint64_t taken_back = 0;
  for (int time = 0; time < kTimes; ++time) {
    device::Delays::set(unsigned(time) + 1);
    words_.clear();
    {
      BatchedCopy many(*executor_, 0, std::chrono::nanoseconds(0));
      const auto copies = messages(12, 1, unsigned(time));
      auto launch = many.begin(copies);
      ASSERT_TRUE(launch.ok() && *launch != nullptr);
      wait(**launch, 1);
      EXPECT_EQ(to_, from_);
      if (many.taken_back() != 0) {
        const auto next = many.begin(copies);
        ASSERT_TRUE(next.ok());
        EXPECT_EQ(*next, nullptr) << "of a busy GPU engines have the next ones";
      }
      std::ranges::fill(to_, std::byte{0x77});
      taken_back += many.taken_back();
    }
    EXPECT_TRUE(std::ranges::all_of(to_, [](std::byte one) { return one == std::byte{0x77}; }));
  }
  device::Delays::set(0);
  EXPECT_GT(taken_back, 0u);
}

}  // namespace
}  // namespace sennit::msg
