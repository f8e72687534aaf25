#include "shim/nccl/abi/types.h"

#include <gtest/gtest.h>

namespace sennit::shim::nccl {
namespace {

TEST(Translate, TypesAreThoseOfTheHeader) {
  EXPECT_EQ(type_of(0), device::Type::int8);
  EXPECT_EQ(type_of(6), device::Type::float16);
  EXPECT_EQ(type_of(7), device::Type::float32);
  EXPECT_EQ(type_of(9), device::Type::bfloat16);
  EXPECT_EQ(type_of(11), device::Type::float8_e5m2);
  EXPECT_EQ(type_of(12), std::nullopt) << "of a later version";
  EXPECT_EQ(type_of(-1), std::nullopt);
}

TEST(Translate, OperatorsAreThoseThatEveryCommunicatorHas) {
  EXPECT_EQ(operator_of(0), device::Operator::sum);
  EXPECT_EQ(operator_of(2), device::Operator::max);
  EXPECT_EQ(operator_of(3), device::Operator::min);
  EXPECT_EQ(operator_of(4), device::Operator::average);
  EXPECT_EQ(operator_of(5), std::nullopt) << "a program makes those";
}

TEST(Translate, ErrorsAreOnesThatProgramsOfNcclKnow) {
  EXPECT_EQ(result_of(Status()), kSuccess);
  EXPECT_EQ(result_of(Status(Code::invalid_argument, "")), kInvalidArgument);
  EXPECT_EQ(result_of(Status(Code::peer_lost, "")), kRemoteError);
  EXPECT_EQ(result_of(Status(Code::aborted, "")), kRemoteError) << "by another rank";
  EXPECT_EQ(result_of(Status(Code::out_of_memory, "")), kUnhandledCudaError);
  EXPECT_EQ(result_of(Status(Code::timed_out, "")), kSystemError);
}

}  // namespace
}  // namespace sennit::shim::nccl
