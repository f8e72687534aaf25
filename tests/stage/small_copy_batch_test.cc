#include "stage/small_copy_batch.h"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

namespace sennit::stage {
namespace {

constexpr std::size_t kRoom = 64 << 10;

class SmallCopyBatchTest : public testing::Test {
 protected:
  SmallCopyBatchTest() : executor_(*device::open_host_executor()), gpus_(executor_, std::chrono::milliseconds(200)) {
    memory_ = std::move(*executor_->allocate(0, kRoom));
    std::iota(host_.begin(), host_.end(), std::uint8_t{1});
  }
  /// Pieces of these lengths, one behind the other with a byte between; what they leave on the GPU is looked at.
  void bring(const std::vector<std::uint64_t>& lengths, MemInfo held) {
    std::memset(memory_.data(), 0, kRoom);
    SmallCopyBatch copies(gpus_);
    std::size_t at = 0;
    for (const std::uint64_t bytes : lengths) {
      ASSERT_TRUE(copies.add(memory_.data() + at, host_.data() + at, bytes, held).ok());
      at += bytes + 1;
    }
    ASSERT_TRUE(copies.end().ok());
    at = 0;
    for (const std::uint64_t bytes : lengths) {
      EXPECT_TRUE(bytes == 0 || std::memcmp(memory_.data() + at, host_.data() + at, bytes) == 0) << bytes;
      EXPECT_EQ(memory_.data()[at + bytes], std::byte(0)) << bytes;
      at += bytes + 1;
    }
  }

  std::shared_ptr<device::Executor> executor_;
  Gpus gpus_;
  device::Memory memory_;
  std::vector<std::uint8_t> host_ = std::vector<std::uint8_t>(kRoom);
};

TEST_F(SmallCopyBatchTest, EveryPieceComesHoweverManyAndLong) {
  for (const bool settled : {false, true}) {
    const MemInfo held{0, settled};
    bring({}, held);
    bring({0, 5}, held);
    for (int round = 0; round < 20; ++round) {  // by engines, then by a block that attends
      bring(std::vector<std::uint64_t>(64, 8), held);
      bring(std::vector<std::uint64_t>(30, 1000), held);
      bring({8192, 8192, 1, 4096, 4080, 16, 0, 3}, held);
    }
  }
}

TEST_F(SmallCopyBatchTest, WhatIsNotSettledKeepsOthersFromTheBlockToo) {
  for (int round = 0; round < 20; ++round) {
    std::memset(memory_.data(), 0, kRoom);
    SmallCopyBatch copies(gpus_);
    for (std::size_t i = 0; i < 5; ++i)
      ASSERT_TRUE(copies.add(memory_.data() + 64 * i, host_.data() + 64 * i, 64, MemInfo{0, i != 2}).ok());
    ASSERT_TRUE(copies.end().ok());
    EXPECT_EQ(std::memcmp(memory_.data(), host_.data(), 5 * 64), 0);
  }
}

TEST_F(SmallCopyBatchTest, LongPiecesAreNotForIt) {
  EXPECT_TRUE(SmallCopyBatch::takes(8192));
  EXPECT_FALSE(SmallCopyBatch::takes(8193));
}

}  // namespace
}  // namespace sennit::stage
