#include "shim/mpi/shadows.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up_mpi.h"

namespace sennit::shim::mpi {
namespace {

using M = MadeUpMpi;
using testing::Each;
using testing::ElementsAreArray;

class ShadowsTest : public testing::Test {
 protected:
  ShadowsTest() : executor_(*device::open_host_executor()), gpus_(executor_), host_(executor_) {
    memory_ = std::move(*executor_->allocate(0, 256));
    std::iota(bytes().begin(), bytes().end(), std::uint8_t{1});
  }
  std::span<std::uint8_t> bytes() { return {reinterpret_cast<std::uint8_t*>(memory_.data()), 64}; }
  bool is_device(const void* at) const { return at >= memory_.data() && at < memory_.data() + memory_.bytes(); }

  Call call_with(Part part) const {
    Call call(mpi_, Entry::Recv, Family::Recv, Form::blocking, M::kComm);
    call.add(part);
    return call;
  }
  void make(Shadows& shadows, const Call& call) {
    ASSERT_TRUE(shadows.make(call, [&](const void* at) { return is_device(at); }).ok());
  }

  const M mpi_;
  std::shared_ptr<device::Executor> executor_;
  Gpus gpus_;
  HostMemory host_;
  device::Memory memory_;
};

TEST_F(ShadowsTest, WhatIsReadIsCopiedIn) {
  Shadows shadows(gpus_, host_);
  make(shadows, call_with({memory_.data(), Access::in, true, run(4, M::kFloat)}));
  EXPECT_EQ(shadows.bytes(), 16u);
  const auto* there = static_cast<const std::uint8_t*>(shadows.memory()[0]);
  EXPECT_TRUE(std::equal(there, there + 16, bytes().begin()));
  std::fill_n(static_cast<std::uint8_t*>(shadows.memory()[0]), 16, std::uint8_t{0});
  ASSERT_TRUE(shadows.give_back(-1).ok());
  EXPECT_EQ(bytes()[0], 1) << "what is only read must not be written";
  bytes()[0] = 99;
  ASSERT_TRUE(shadows.fill().ok());
  EXPECT_EQ(there[0], 99);
}

TEST_F(ShadowsTest, WhatIsWrittenIsCopiedBack) {
  Shadows shadows(gpus_, host_);
  make(shadows, call_with({memory_.data(), Access::out, true, run(4, M::kFloat)}));
  std::fill_n(static_cast<std::uint8_t*>(shadows.memory()[0]), 16, std::uint8_t{77});
  ASSERT_TRUE(shadows.give_back(-1).ok());
  EXPECT_THAT(bytes().first(16), Each(77));
  EXPECT_EQ(bytes()[16], 17);
}

TEST_F(ShadowsTest, BehindAShortMessageMemoryStays) {
  Shadows shadows(gpus_, host_);
  make(shadows, call_with({memory_.data(), Access::out, true, run(4, M::kFloat)}));
  std::fill_n(static_cast<std::uint8_t*>(shadows.memory()[0]), 16, std::uint8_t{77});
  ASSERT_TRUE(shadows.give_back(5).ok());
  EXPECT_THAT(bytes().first(5), Each(77));
  EXPECT_EQ(bytes()[5], 6);
}

TEST_F(ShadowsTest, GapsBetweenElementsStay) {
  Shadows shadows(gpus_, host_);
  make(shadows, call_with({memory_.data(), Access::out, true, run(2, M::kGaps)}));
  auto* const there =
      static_cast<std::uint8_t*>(shadows.memory()[0]);  // as the program's buffer: data from byte 4 on
  std::fill_n(there + 4, 8, std::uint8_t{77});
  std::fill_n(there + 20, 8, std::uint8_t{77});
  ASSERT_TRUE(shadows.give_back(16).ok());
  EXPECT_THAT(bytes().subspan(4, 8), Each(77));
  EXPECT_THAT(bytes().subspan(12, 8), ElementsAreArray({13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_THAT(bytes().subspan(20, 8), Each(77));
}

TEST_F(ShadowsTest, MemoryOfTheHostIsUsedAsItIs) {
  float here[4];
  Shadows shadows(gpus_, host_);
  make(shadows, call_with({here, Access::out, true, run(4, M::kFloat)}));
  EXPECT_EQ(shadows.memory()[0], here);
  EXPECT_EQ(shadows.bytes(), 0u);
}

TEST_F(ShadowsTest, InPlaceTheResultIsAnInputToo) {
  Call call(mpi_, Entry::Allreduce, Family::Allreduce, Form::blocking, M::kComm);
  call.add({M::in_place(), Access::in, true, run(4, M::kFloat)});
  call.add({memory_.data(), Access::out, true, run(4, M::kFloat)});
  Shadows shadows(gpus_, host_);
  make(shadows, call);
  EXPECT_EQ(shadows.memory()[0], M::in_place());
  EXPECT_EQ(static_cast<const std::uint8_t*>(shadows.memory()[1])[3], 4);
}

TEST_F(ShadowsTest, SmallHostMemoryIsKeptForTheNextCall) {
  auto first = host_.take(5000);
  ASSERT_TRUE(first.ok());
  const void* const where = first->data();
  host_.give(std::move(*first));
  auto second = host_.take(6000);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->data(), where);
  auto large = host_.take(HostMemory::kLargestPinned + 1);
  ASSERT_TRUE(large.ok());
  EXPECT_EQ(large->bytes(), HostMemory::kLargestPinned + 1);
}

}  // namespace
}  // namespace sennit::shim::mpi
