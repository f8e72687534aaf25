#include "coll/call_key.h"

#include <gtest/gtest.h>

namespace sennit::coll {
namespace {

TEST(CallKey, KnowsWhichReductionsKernelsHaveALoopFor) {
  const auto arithmetic = [](Operation operation, device::Type type, device::Operator op) {
    return call_key_of(operation, {type, op}, 8).arithmetic;
  };
  EXPECT_EQ(arithmetic(Operation::allreduce, device::Type::float32, device::Operator::sum), Arithmetic::fast);
  EXPECT_EQ(arithmetic(Operation::reduce, device::Type::bfloat16, device::Operator::sum), Arithmetic::fast);
  EXPECT_EQ(arithmetic(Operation::reduce_scatter, device::Type::bfloat16, device::Operator::average),
            Arithmetic::fast);
  EXPECT_EQ(arithmetic(Operation::allreduce, device::Type::float16, device::Operator::premultiplied_sum),
            Arithmetic::fast);
  EXPECT_EQ(arithmetic(Operation::allreduce, device::Type::int32, device::Operator::average), Arithmetic::general);
  EXPECT_EQ(arithmetic(Operation::allreduce, device::Type::float8_e4m3, device::Operator::average),
            Arithmetic::general);
  EXPECT_EQ(arithmetic(Operation::allreduce, device::Type::float32, device::Operator::max), Arithmetic::general);
  EXPECT_EQ(arithmetic(Operation::allreduce, device::Type::float64, device::Operator::sum), Arithmetic::general);
  EXPECT_EQ(arithmetic(Operation::allgather, device::Type::float64, device::Operator::max), Arithmetic::none);
}

TEST(CallKey, NamesAreReadBack) {
  for (const Arithmetic each : {Arithmetic::none, Arithmetic::fast, Arithmetic::general})
    EXPECT_EQ(*parse_arithmetic(name(each)), each);
  const auto wrong = parse_arithmetic("quick");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.status().what().find("quick"), std::string::npos);
}

}  // namespace
}  // namespace sennit::coll
