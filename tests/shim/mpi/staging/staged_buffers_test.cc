#include "shim/mpi/staging/staged_buffers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "staged_memory.h"

namespace sennit::shim::mpi {
namespace {

using M = MadeUpMpi;
using testing::Each;
using testing::ElementsAreArray;

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

}  // namespace
}  // namespace sennit::shim::mpi
