#include "shim/mpi/staging/staged_buffers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../gaps_mpi.h"

namespace sennit::shim::mpi {
namespace {

using M = MadeUpMpi;
using testing::Each;
using testing::ElementsAreArray;

class StagedBuffersTest : public testing::Test {
 protected:
  StagedBuffersTest() : executor_(*device::open_host_executor()), gpus_(executor_), host_(executor_) {
    memory_ = std::move(*executor_->allocate(0, 256));
    std::iota(bytes().begin(), bytes().end(), std::uint8_t{1});
  }
  std::span<std::uint8_t> bytes() { return {reinterpret_cast<std::uint8_t*>(memory_.data()), 64}; }
  bool is_device(const void* at) const { return at >= memory_.data() && at < memory_.data() + memory_.bytes(); }

  Call call_with(Part part) const {
    Call call(mpi_, Family::Recv, Form::blocking, M::kComm);
    call.add(part);
    return call;
  }
  void make(StagedBuffers& staged, const Call& call) {
    ASSERT_TRUE(
        staged.make(call,
                    [&](const void* at) {
                      return is_device(at) ? stage::MemInfo{0, true} : stage::MemInfo{};
                    })
            .ok());
  }

  const M mpi_;
  std::shared_ptr<device::Executor> executor_;
  stage::Gpus gpus_;
  stage::PinnedPool host_;
  device::Memory memory_;
};

TEST_F(StagedBuffersTest, WhatIsReadIsCopiedIn) {
  StagedBuffers staged(gpus_, host_);
  make(staged, call_with({memory_.data(), Access::in, true, run(4, M::kFloat)}));
  EXPECT_EQ(staged.bytes(), 16u);
  const auto* there = static_cast<const std::uint8_t*>(staged.memory()[0]);
  EXPECT_TRUE(std::equal(there, there + 16, bytes().begin()));
  std::fill_n(static_cast<std::uint8_t*>(staged.memory()[0]), 16, std::uint8_t{0});
  ASSERT_TRUE(staged.copy_out(-1).ok());
  EXPECT_EQ(bytes()[0], 1) << "what is only read must not be written";
  bytes()[0] = 99;
  ASSERT_TRUE(staged.copy_in().ok());
  EXPECT_EQ(there[0], 99);
}

TEST_F(StagedBuffersTest, ABufferWithoutOneLiesInTheOthers) {
  Call call(mpi_, Family::Allgather, Form::blocking, M::kComm);
  call.add({memory_.data() + 8, Access::in, false, run(2, M::kFloat)});
  call.add({memory_.data(), Access::both, true, run(8, M::kFloat)});
  StagedBuffers staged(gpus_, host_);
  make(staged, call);
  staged.put_inside({1, 0, 8});
  EXPECT_EQ(staged.bytes(), 32u);
  EXPECT_EQ(staged.memory()[0], static_cast<std::byte*>(staged.memory()[1]) + 8);
}

TEST_F(StagedBuffersTest, WhatIsWrittenIsCopiedBack) {
  StagedBuffers staged(gpus_, host_);
  make(staged, call_with({memory_.data(), Access::out, true, run(4, M::kFloat)}));
  std::fill_n(static_cast<std::uint8_t*>(staged.memory()[0]), 16, std::uint8_t{77});
  ASSERT_TRUE(staged.copy_out(-1).ok());
  EXPECT_THAT(bytes().first(16), Each(77));
  EXPECT_EQ(bytes()[16], 17);
}

TEST_F(StagedBuffersTest, BehindAShortMessageMemoryStays) {
  StagedBuffers staged(gpus_, host_);
  make(staged, call_with({memory_.data(), Access::out, true, run(4, M::kFloat)}));
  std::fill_n(static_cast<std::uint8_t*>(staged.memory()[0]), 16, std::uint8_t{77});
  ASSERT_TRUE(staged.copy_out(5).ok());
  EXPECT_THAT(bytes().first(5), Each(77));
  EXPECT_EQ(bytes()[5], 6);
}

TEST_F(StagedBuffersTest, GapsBetweenElementsStay) {
  StagedBuffers staged(gpus_, host_);
  make(staged, call_with({memory_.data(), Access::out, true, run(2, M::kGaps)}));
  auto* const there = static_cast<std::uint8_t*>(staged.memory()[0]);  // as the program's buffer: data from byte 4 on
  std::fill_n(there + 4, 8, std::uint8_t{77});
  std::fill_n(there + 20, 8, std::uint8_t{77});
  ASSERT_TRUE(staged.copy_out(16).ok());
  EXPECT_THAT(bytes().subspan(4, 8), Each(77));
  EXPECT_THAT(bytes().subspan(12, 8), ElementsAreArray({13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_THAT(bytes().subspan(20, 8), Each(77));
}

TEST_F(StagedBuffersTest, MemoryOfTheHostIsUsedAsItIs) {
  float here[4];
  StagedBuffers staged(gpus_, host_);
  make(staged, call_with({here, Access::out, true, run(4, M::kFloat)}));
  EXPECT_EQ(staged.memory()[0], here);
  EXPECT_EQ(staged.bytes(), 0u);
}

TEST_F(StagedBuffersTest, InPlaceTheResultIsAnInputToo) {
  Call call(mpi_, Family::Allreduce, Form::blocking, M::kComm);
  call.add({M::in_place(), Access::in, true, run(4, M::kFloat)});
  call.add({memory_.data(), Access::out, true, run(4, M::kFloat)});
  StagedBuffers staged(gpus_, host_);
  make(staged, call);
  EXPECT_EQ(staged.memory()[0], M::in_place());
  EXPECT_EQ(static_cast<const std::uint8_t*>(staged.memory()[1])[3], 4);
}

TEST_F(StagedBuffersTest, AMessageLongerThanItsMemoryOrOfUnknownLengthFillsAll) {
  for (const std::int64_t received : {std::int64_t{1000}, std::int64_t{-1}}) {
    std::fill_n(bytes().begin(), 17, std::uint8_t{5});
    StagedBuffers staged(gpus_, host_);
    make(staged, call_with({memory_.data(), Access::out, true, run(4, M::kFloat)}));
    std::fill_n(static_cast<std::uint8_t*>(staged.memory()[0]), 16, std::uint8_t{77});
    ASSERT_TRUE(staged.copy_out(received).ok());
    EXPECT_THAT(bytes().first(16), Each(77));
    EXPECT_EQ(bytes()[16], 5);
  }
}

TEST_F(StagedBuffersTest, AnEmptyMessageChangesNothing) {
  StagedBuffers staged(gpus_, host_);
  make(staged, call_with({memory_.data(), Access::out, true, run(4, M::kFloat)}));
  std::fill_n(static_cast<std::uint8_t*>(staged.memory()[0]), 16, std::uint8_t{77});
  ASSERT_TRUE(staged.copy_out(0).ok());
  EXPECT_THAT(bytes().first(4), ElementsAreArray({1, 2, 3, 4}));
}

TEST_F(StagedBuffersTest, WhatLiesBeforeABufferIsShadowedToo) {
  const int counts[] = {1, 1}, places[] = {-2, 1};
  Elements elements = run(0, M::kFloat, 2);
  elements.counts = {counts, false};
  elements.places = {places, false};
  StagedBuffers staged(gpus_, host_);
  make(staged, call_with({memory_.data() + 16, Access::out, true, elements}));
  EXPECT_EQ(staged.bytes(), 16u);
  auto* const there = static_cast<std::uint8_t*>(staged.memory()[0]);
  EXPECT_EQ(there[-8], 9);
  std::fill_n(there - 8, 4, std::uint8_t{77});
  std::fill_n(there + 4, 4, std::uint8_t{78});
  ASSERT_TRUE(staged.copy_out(-1).ok());
  EXPECT_EQ(bytes()[7], 8);
  EXPECT_THAT(bytes().subspan(8, 4), Each(77));
  EXPECT_THAT(bytes().subspan(12, 8), ElementsAreArray({13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_THAT(bytes().subspan(20, 4), Each(78));
  EXPECT_EQ(bytes()[24], 25);
}

TEST_F(StagedBuffersTest, WhatIsReadAndWrittenGoesBothWays) {
  StagedBuffers staged(gpus_, host_);
  make(staged, call_with({memory_.data(), Access::both, true, run(4, M::kFloat)}));
  auto* const there = static_cast<std::uint8_t*>(staged.memory()[0]);
  EXPECT_EQ(there[15], 16);
  there[15] = 77;
  ASSERT_TRUE(staged.copy_out(4).ok());
  EXPECT_THAT(bytes().subspan(12, 5), ElementsAreArray({13, 14, 15, 77, 17})) << "both is no message: all goes back";
}

TEST_F(StagedBuffersTest, BuffersThatAreNotUsedHaveNoShadow) {
  for (const Part& part : {Part{memory_.data(), Access::out, false, run(4, M::kFloat)},
                           Part{memory_.data(), Access::out, true, run(0, M::kFloat)},
                           Part{memory_.data(), Access::out, true, run(4, 77)}}) {
    StagedBuffers staged(gpus_, host_);
    make(staged, call_with(part));
    EXPECT_EQ(staged.bytes(), 0u);
    EXPECT_EQ(staged.memory()[0], memory_.data()) << "MPI sees what the program gave";
    EXPECT_TRUE(staged.copy_out(-1).ok());
  }
}

TEST_F(StagedBuffersTest, OneBufferMayBeTheHosts) {
  std::uint8_t here[16] = {};
  Call call(mpi_, Family::Allreduce, Form::blocking, M::kComm);
  call.add({memory_.data(), Access::in, true, run(4, M::kFloat)});
  call.add({here, Access::out, true, run(4, M::kFloat)});
  StagedBuffers staged(gpus_, host_);
  make(staged, call);
  EXPECT_NE(staged.memory()[0], memory_.data());
  EXPECT_EQ(staged.memory()[1], here);
  EXPECT_EQ(staged.bytes(), 16u);
}

TEST_F(StagedBuffersTest, OfAColumnTheDataAloneIsCopied) {
  constexpr std::size_t kRows = 10, kRow = 16384, kNumber = 4;
  const device::Memory matrix = std::move(*executor_->allocate(0, kRows * kRow));
  auto* const there = reinterpret_cast<std::uint8_t*>(matrix.data());
  for (const auto& [received, numbers] : {std::pair(-1, kRows), {40, kRows}, {12, std::size_t(3)}}) {
    for (std::size_t i = 0; i < kRows * kRow; ++i) there[i] = std::uint8_t(i % 251);
    StagedBuffers staged(gpus_, host_);
    const auto holder = [&](const void* at) { return at == there ? stage::MemInfo{0, true} : stage::MemInfo{}; };
    ASSERT_TRUE(staged.make(call_with({there, Access::out, true, run(1, M::kColumn)}), holder).ok());
    std::fill_n(static_cast<std::uint8_t*>(staged.memory()[0]), 9 * kRow + kNumber, std::uint8_t{255});
    ASSERT_TRUE(staged.copy_out(received).ok());
    for (std::size_t i = 0; i < kRows * kRow; ++i) {
      const bool data = i % kRow < kNumber && i / kRow < numbers;
      ASSERT_EQ(there[i], data ? 255 : i % 251) << i;
    }
  }
  StagedBuffers staged(gpus_, host_);
  const auto holder = [&](const void*) { return stage::MemInfo{0, true}; };
  ASSERT_TRUE(staged.make(call_with({there, Access::in, true, run(1, M::kColumn)}), holder).ok());
  for (std::size_t row = 0; row < kRows; ++row)
    EXPECT_EQ(std::memcmp(static_cast<std::uint8_t*>(staged.memory()[0]) + row * kRow, there + row * kRow, kNumber),
              0);
}

TEST_F(StagedBuffersTest, MemoryThatWasFreedIsFoundOut) {
  StagedBuffers staged(gpus_, host_);
  make(staged, call_with({memory_.data(), Access::both, true, run(4, M::kFloat)}));
  EXPECT_TRUE(gpus_.still_held(memory_.data(), 0).ok());
  EXPECT_FALSE(gpus_.still_held(memory_.data(), 1).ok());
  memory_ = {};
  for (const Status& status : {staged.copy_out(-1), staged.copy_in()}) {
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.text().find("was freed while a request used it"), std::string::npos) << status.text();
  }
}

TEST_F(StagedBuffersTest, AShadowsMemoryServesTheNextCall) {
  const void* where = nullptr;
  for (int call = 0; call < 2; ++call) {
    StagedBuffers staged(gpus_, host_);
    make(staged, call_with({memory_.data(), Access::out, true, run(4, M::kFloat)}));
    EXPECT_TRUE(where == nullptr || staged.memory()[0] == where);
    where = staged.memory()[0];
  }
}

class PermutedMpi : public M {
 public:
  static constexpr Handle kBackwards = 60;  // bytes 4 to 8, then 0 to 4
  PermutedMpi() { shapes[kBackwards] = {8, 0, 8, 0, 8}; }
};

TEST_F(StagedBuffersTest, AShortMessageOfAPermutedTypeFillsWhatItFills) {
  const PermutedMpi mpi;
  Call call(mpi, Family::Recv, Form::blocking, M::kComm);
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
  Call call(mpi, Family::Recv, Form::blocking, M::kComm);
  call.add({memory_.data(), Access::out, true, run(2, M::kGaps)});
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
    Call call(mpi, Family::Recv, Form::blocking, M::kComm);
    call.add({memory_.data(), Access::out, true, run(elements, M::kGaps)});
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
  Call call(mpi_, Family::Neighbor_alltoallv, Form::blocking, M::kComm);
  Elements elements = run(0, M::kFloat);
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

TEST_F(StagedBuffersTest, ALongOneThatWasHardlyWrittenToServesTheNextReceive) {
  constexpr int kBytes = stage::PinnedPool::kLargestPerhaps + 4;
  memory_ = std::move(*executor_->allocate(0, kBytes));
  const auto receive = [&](bool hardly) {
    StagedBuffers staged(gpus_, host_);
    make(staged, call_with({memory_.data(), Access::out, true, run(kBytes / 4, M::kFloat)}));
    const void* const there = staged.memory()[0];
    if (hardly)
      staged.mark_written(2000);
    else
      std::memset(staged.memory()[0], 9, kBytes);
    return there;
  };
  const void* const first = receive(true);
  EXPECT_EQ(receive(true), first);
  EXPECT_EQ(receive(false), first);
  EXPECT_EQ(host_.acquire(kBytes)->data()[kBytes - 1], std::byte{0}) << "nothing was said of what became of the last";
}

TEST_F(StagedBuffersTest, WhatWasWrittenOnceIsNotForgottenByAnotherStart) {
  constexpr int kBytes = stage::PinnedPool::kLargestPerhaps + 4;
  memory_ = std::move(*executor_->allocate(0, kBytes));
  {
    StagedBuffers staged(gpus_, host_);
    make(staged, call_with({memory_.data(), Access::out, true, run(kBytes / 4, M::kFloat)}));
    std::memset(staged.memory()[0], 9, kBytes);
    ASSERT_TRUE(staged.copy_out(kBytes).ok());
    staged.mark_written(2000);
  }
  const auto next = host_.acquire(kBytes);
  EXPECT_EQ(next->data()[kBytes - 1], std::byte{0});
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
    Call call(mpi, Family::Recv, Form::nonblocking, M::kComm);
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
  Call call(mpi, Family::Send, Form::blocking, M::kComm);
  call.add({memory_.data() - 32, Access::in, true, run(1, AcrossMpi::kAcross)});
  make(staged, call);
  EXPECT_FALSE(staged.scattered(0));
  EXPECT_EQ(staged.memory().types[0], kNoHandle);
  EXPECT_NE(staged.memory()[0], memory_.data() - 32);
}

}  // namespace
}  // namespace sennit::shim::mpi
