// Staged buffers of elements with gaps, and of data in several allocations.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "staged_memory.h"

namespace sennit::shim::mpi {
namespace {

using testing::Each;
using testing::ElementsAreArray;

TEST_F(StagedBuffersTest, OfAColumnTheDataAloneIsCopied) {
  constexpr std::size_t kRows = 10, kRow = 16384, kNumber = 4;
  const device::Memory matrix = std::move(*executor_->allocate(0, kRows * kRow));
  auto* const there = reinterpret_cast<std::uint8_t*>(matrix.data());
  for (const auto& [received, numbers] : {std::pair(-1, kRows), {40, kRows}, {12, std::size_t(3)}}) {
    for (std::size_t i = 0; i < kRows * kRow; ++i) there[i] = std::uint8_t(i % 251);
    StagedBuffers staged(gpus_, host_);
    const auto holder = [&](const void* at) { return at == there ? stage::MemInfo{0, true} : stage::MemInfo{}; };
    ASSERT_TRUE(staged.make(call_with({there, Access::out, true, run(1, MadeUpMpi::kColumn)}), holder).ok());
    std::fill_n(static_cast<std::uint8_t*>(staged.memory()[0]), 9 * kRow + kNumber, std::uint8_t{255});
    ASSERT_TRUE(staged.copy_out(received).ok());
    for (std::size_t i = 0; i < kRows * kRow; ++i) {
      const bool data = i % kRow < kNumber && i / kRow < numbers;
      ASSERT_EQ(there[i], data ? 255 : i % 251) << i;
    }
  }
  StagedBuffers staged(gpus_, host_);
  const auto holder = [&](const void*) { return stage::MemInfo{0, true}; };
  ASSERT_TRUE(staged.make(call_with({there, Access::in, true, run(1, MadeUpMpi::kColumn)}), holder).ok());
  for (std::size_t row = 0; row < kRows; ++row)
    EXPECT_EQ(std::memcmp(static_cast<std::uint8_t*>(staged.memory()[0]) + row * kRow, there + row * kRow, kNumber),
              0);
}

class PermutedMpi : public MadeUpMpi {
 public:
  static constexpr Handle kBackwards = 60;  // bytes 4 to 8, then 0 to 4
  PermutedMpi() { shapes[kBackwards] = {8, 0, 8, 0, 8}; }
};

TEST_F(StagedBuffersTest, AShortMessageOfAPermutedTypeFillsWhatItFills) {
  const PermutedMpi mpi;
  Call call(mpi, Family::Recv, Form::blocking, MadeUpMpi::kComm);
  call.add({memory_.data(), Access::out, true, run(1, PermutedMpi::kBackwards)});
  StagedBuffers staged(gpus_, host_);
  make(staged, call);
  std::fill_n(static_cast<std::uint8_t*>(staged.memory()[0]) + 4, 4, std::uint8_t{77});
  ASSERT_TRUE(staged.copy_out(4).ok());
  EXPECT_THAT(bytes().first(4), ElementsAreArray({1, 2, 3, 4}));
  EXPECT_THAT(bytes().subspan(4, 4), Each(77));
}

/// Elements of kGaps are no rows to it.
class PackingMpi final : public GapsMpi {
 public:
  std::optional<stage::Strided> strided(Handle) const override { return std::nullopt; }
};

TEST_F(StagedBuffersTest, WhatWasWrittenBetweenReceivedElementsMeanwhileStays) {
  const PackingMpi mpi;
  Call call(mpi, Family::Recv, Form::blocking, MadeUpMpi::kComm);
  call.add({memory_.data(), Access::out, true, run(2, MadeUpMpi::kGaps)});
  StagedBuffers staged(gpus_, host_);
  make(staged, call);
  std::ranges::fill(bytes(), std::uint8_t{50});
  auto* const there = static_cast<std::uint8_t*>(staged.memory()[0]);
  std::fill_n(there + 4, 8, std::uint8_t{77});
  std::fill_n(there + 20, 8, std::uint8_t{78});
  ASSERT_TRUE(staged.copy_out(16).ok());
  EXPECT_THAT(bytes().first(4), Each(50));
  EXPECT_THAT(bytes().subspan(4, 8), Each(77));
  EXPECT_THAT(bytes().subspan(12, 8), Each(50));
  EXPECT_THAT(bytes().subspan(20, 8), Each(78));
  EXPECT_THAT(bytes().subspan(28, 8), Each(50));
}

/// By a kernel, and where memory is not pinned.
TEST_F(StagedBuffersTest, WhatWasWrittenBetweenManyElementsMeanwhileStays) {
  for (const std::int64_t elements : {std::int64_t{5000}, std::int64_t{stage::PinnedPool::kLargest / 16 + 1}}) {
    memory_ = std::move(*executor_->allocate(0, static_cast<std::uint64_t>(16 * elements)));
    const PackingMpi mpi;
    Call call(mpi, Family::Recv, Form::blocking, MadeUpMpi::kComm);
    call.add({memory_.data(), Access::out, true, run(elements, MadeUpMpi::kGaps)});
    StagedBuffers staged(gpus_, host_);
    make(staged, call);
    std::fill_n(memory_.data(), 16 * elements, std::byte{50});
    std::fill_n(static_cast<std::byte*>(staged.memory()[0]) + 4, 16 * elements - 8, std::byte{77});
    ASSERT_TRUE(staged.copy_out(8 * elements).ok());
    for (std::int64_t i = 0; i < 16 * elements; i += 7)
      ASSERT_EQ(memory_.data()[i], std::byte(i % 16 >= 4 && i % 16 < 12 ? 77 : 50)) << i;
  }
}

TEST_F(StagedBuffersTest, WhatLiesBetweenBlocksIsOthers) {
  const int counts[] = {2, 1}, places[] = {0, 8};
  Call call(mpi_, Family::Neighbor_alltoallv, Form::blocking, MadeUpMpi::kComm);
  Elements elements = run(0, MadeUpMpi::kFloat);
  elements.blocks = 2;
  elements.counts = {counts, false};
  elements.places = {places, false};
  call.add({memory_.data(), Access::out, true, elements});
  StagedBuffers staged(gpus_, host_);
  make(staged, call);
  std::ranges::fill(bytes(), std::uint8_t{50});  // by a kernel, meanwhile
  std::fill_n(static_cast<std::uint8_t*>(staged.memory()[0]), 36, std::uint8_t{77});
  ASSERT_TRUE(staged.copy_out(-1).ok());
  EXPECT_THAT(bytes().first(8), Each(77));
  EXPECT_THAT(bytes().subspan(8, 24), Each(50));
  EXPECT_THAT(bytes().subspan(32, 4), Each(77));
  EXPECT_EQ(bytes()[36], 50);
}

/// Of one more type, whose data lies in several allocations.
class AcrossMpi final : public MadeUpMpi {
 public:
  static constexpr Handle kAcross = 7, kPacked = 1000;  // and its bytes
  explicit AcrossMpi(std::vector<stage::Segment> segments) : segments_(std::move(segments)) {
    Shape& shape = shapes[kAcross];
    std::int64_t first = segments_.front().first, last = first;
    for (const stage::Segment& segment : segments_) {
      shape.size += segment.bytes;
      first = std::min(first, segment.first);
      last = std::max(last, segment.first + segment.bytes);
      far_.push_back(segment.first);
    }
    shape.extent = 4;
    shape.true_lower = first;
    shape.true_extent = last - first;
  }
  std::optional<std::vector<stage::Segment>> segments(Handle) const override { return segments_; }
  std::span<const std::int64_t> far(Handle type) const override {
    return type == kAcross ? far_ : std::span<const std::int64_t>();
  }
  Handle type_of_bytes(std::int64_t bytes) const override { return kPacked + static_cast<Handle>(bytes); }

 private:
  const std::vector<stage::Segment> segments_;
  std::vector<std::int64_t> far_;
};

TEST_F(StagedBuffersTest, DataInSeveralAllocationsIsBroughtTogetherInTheOrderOfMessages) {
  auto other = std::move(*executor_->allocate(1, 64));
  std::array<std::uint8_t, 16> here{};
  auto* const there = reinterpret_cast<std::uint8_t*>(other.data());
  std::iota(there, there + 16, std::uint8_t{100});
  std::iota(here.begin(), here.end(), std::uint8_t{200});
  const auto distance = [&](const void* to) { return static_cast<const std::byte*>(to) - memory_.data(); };
  const auto holder = [&](const void* at) { return stage::MemInfo{executor_->holder(at).value_or(-1), true}; };
  const AcrossMpi mpi({{distance(there), 8}, {0, 4}, {distance(here.data()), 4}});
  for (const auto access : {Access::in, Access::out}) {
    StagedBuffers staged(gpus_, host_);
    Call call(mpi, Family::Recv, Form::nonblocking, MadeUpMpi::kComm);
    call.add({memory_.data(), access, true, run(2, AcrossMpi::kAcross)});
    ASSERT_TRUE(staged.make(call, holder).ok());
    EXPECT_TRUE(staged.scattered(0));
    EXPECT_EQ(staged.bytes(), 32u);
    EXPECT_EQ(staged.memory().types[0], AcrossMpi::kPacked + 16);
    auto* const packed = static_cast<std::uint8_t*>(staged.memory()[0]);
    if (access == Access::in) {
      EXPECT_THAT(std::vector(packed, packed + 32),
                  ElementsAreArray({100, 101, 102, 103, 104, 105, 106, 107, 1, 2, 3, 4, 200, 201, 202, 203,
                                    104, 105, 106, 107, 108, 109, 110, 111, 5, 6, 7, 8, 204, 205, 206, 207}));
      continue;
    }
    std::fill_n(packed, 32, std::uint8_t{77});
    ASSERT_TRUE(staged.copy_out(10).ok());
    EXPECT_THAT(std::vector(there, there + 9), ElementsAreArray({77, 77, 77, 77, 77, 77, 77, 77, 108}));
    EXPECT_THAT(std::vector(bytes().begin(), bytes().begin() + 3), ElementsAreArray({77, 77, 3}));
    ASSERT_TRUE(staged.copy_out(-1).ok());
    EXPECT_EQ(bytes()[7], 77);
    EXPECT_EQ(bytes()[8], 9);
    EXPECT_EQ(here[7], 77);
    EXPECT_EQ(here[8], 208);
  }
}

TEST_F(StagedBuffersTest, AnAddressBeforeItsDataIsNoMatter) {
  const AcrossMpi mpi({{64, 8}, {128, 4}});  // and its address before that
  StagedBuffers staged(gpus_, host_);
  Call call(mpi, Family::Send, Form::blocking, MadeUpMpi::kComm);
  call.add({memory_.data() - 32, Access::in, true, run(1, AcrossMpi::kAcross)});
  make(staged, call);
  EXPECT_FALSE(staged.scattered(0));
  EXPECT_EQ(staged.memory().types[0], kNoHandle);
  EXPECT_NE(staged.memory()[0], memory_.data() - 32);
}

}  // namespace
}  // namespace sennit::shim::mpi
