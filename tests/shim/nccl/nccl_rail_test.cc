#include "shim/nccl/nccl_rail.h"

#include <gtest/gtest.h>

namespace sennit::shim::nccl {
namespace {

/// What NCCL was asked for.
struct Asked {
  int type = -1, op = -1, sums = 0, destroyed = 0, aborted = 0;
  std::size_t count = 0;
  int result = kSuccess, state = kSuccess;
} asked;

Functions functions() {
  asked = {};
  Functions all;
  all.all_reduce = [](const void*, void*, std::size_t count, int type, int op, Comm, Stream) {
    asked.count = count;
    asked.type = type;
    asked.op = op;
    ++asked.sums;
    return asked.result;
  };
  all.comm_destroy = [](Comm) { return ++asked.destroyed, kSuccess; };
  all.comm_abort = [](Comm) { return ++asked.aborted, kSuccess; };
  all.comm_get_async_error = [](Comm, int* error) {
    *error = asked.state;
    return kSuccess;
  };
  return all;
}

struct RailOfNccl : testing::Test {
  const Functions nccl = functions();
  int one = 0;
  Comm comm = reinterpret_cast<Comm>(&one);
  std::shared_ptr<device::Executor> executor = *device::open_host_executor();
  device::Memory memory = *executor->allocate(0, 64);
  NcclRail rail{nccl, comm, *executor->lane(0), true};
};

TEST_F(RailOfNccl, AsksForTheSumInNcclsNumbers) {
  using device::Operator;
  using device::Type;
  ASSERT_TRUE(rail.all_reduce(memory.data(), 64, {Type::bfloat16, Operator::sum, 1, 1, 1}).ok());
  EXPECT_EQ(asked.count, 32u);
  EXPECT_EQ(asked.type, 9);  // ncclBfloat16
  EXPECT_EQ(asked.op, 0);    // ncclSum
  ASSERT_TRUE(rail.all_reduce(memory.data(), 64, {Type::int32, Operator::max, 1, 1, 1}).ok());
  EXPECT_EQ(asked.count, 16u);
  EXPECT_EQ(asked.type, 2);
  EXPECT_EQ(asked.op, 2);
}

TEST_F(RailOfNccl, WhatNcclHasNotIsRefused) {
  const device::Reduction bits{device::Type::int32, device::Operator::bit_and, 1, 1, 1};
  EXPECT_EQ(rail.all_reduce(memory.data(), 64, bits).code(), Code::unsupported);
  EXPECT_EQ(asked.sums, 0);
}

TEST_F(RailOfNccl, TellsOfNcclsErrors) {
  EXPECT_TRUE(rail.check().ok());
  asked.state = kInProgress;
  EXPECT_TRUE(rail.check().ok());
  asked.state = kSystemError;
  EXPECT_EQ(rail.check().code(), Code::device_error);
  asked.result = kInternalError;
  EXPECT_EQ(rail.all_reduce(memory.data(), 64, {}).code(), Code::device_error);
}

TEST_F(RailOfNccl, EndsOnce) {
  rail.end(true);
  rail.end(false);
  EXPECT_EQ(asked.destroyed, 1);
  EXPECT_EQ(asked.aborted, 0);
  EXPECT_EQ(rail.all_reduce(memory.data(), 64, {}).code(), Code::unsupported) << "it is gone";
}

TEST(RailOfNcclAtItsEnd, IsAbortedWhereItWasNotEnded) {
  const Functions nccl = functions();
  int one = 0;
  { const NcclRail rail(nccl, reinterpret_cast<Comm>(&one), nullptr, true); }
  EXPECT_EQ(asked.aborted, 1);
}

}  // namespace
}  // namespace sennit::shim::nccl
