#include "bench/collective/numbers.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace sennit::bench::collective {
namespace {

using device::Operator;
using device::Type;

bool agree_on(Operator op, bool reduced, std::vector<float> got, std::vector<float> right) {
  return agree({Type::float32, op, 3}, reduced, reinterpret_cast<const std::byte*>(got.data()),
               reinterpret_cast<const std::byte*>(right.data()), got.size() * 4);
}

TEST(Agree, SumsBitForBit) {
  EXPECT_TRUE(agree_on(Operator::sum, true, {1, 2, 0.25f}, {1, 2, 0.25f}));
  EXPECT_FALSE(agree_on(Operator::sum, true, {1, 2, 0.25f}, {1, std::nextafter(2.0f, 3.0f), 0.25f}));
}

TEST(Agree, AveragesUpToRounding) {
  EXPECT_TRUE(agree_on(Operator::average, true, {1, 2}, {1, std::nextafter(2.0f, 3.0f)}));
  EXPECT_FALSE(agree_on(Operator::average, true, {1, 2}, {1, 2.001f}));
  EXPECT_FALSE(agree_on(Operator::average, true, {1, 1e-9f}, {1, 0})) << "nothing rounds to or from zero";
  EXPECT_FALSE(agree_on(Operator::average, true, {1, NAN}, {1, 2}));
}

TEST(Agree, NothingIsRoundedWhereTheRanksAreAPowerOfTwo) {
  const float got = std::nextafter(2.0f, 3.0f), right = 2;
  EXPECT_FALSE(agree({Type::float32, Operator::average, 4}, true, reinterpret_cast<const std::byte*>(&got),
                     reinterpret_cast<const std::byte*>(&right), 4));
}

TEST(Agree, ZerosAreNoAverageOfAnyType) {
  for (const Type type : {Type::float64, Type::float16, Type::bfloat16, Type::float8_e4m3, Type::float8_e5m2}) {
    const std::vector<std::byte> zeros(64);
    EXPECT_FALSE(agree({type, Operator::average, 3}, true, zeros.data(), numbers(type, 64, 1).data(), 64));
  }
}

TEST(Agree, MovesAndIntegersBitForBit) {
  EXPECT_FALSE(agree_on(Operator::average, false, {2}, {std::nextafter(2.0f, 3.0f)}));
  const int got = 3, right = 4;
  EXPECT_FALSE(agree({Type::int32, Operator::average, 3}, true, reinterpret_cast<const std::byte*>(&got),
                     reinterpret_cast<const std::byte*>(&right), 4));
}

TEST(Agree, EveryFloatingType) {
  for (const Type type : {Type::float64, Type::float16, Type::bfloat16, Type::float8_e4m3, Type::float8_e5m2}) {
    const auto some = numbers(type, 64, 1), others = numbers(type, 64, 2);
    EXPECT_TRUE(agree({type, Operator::average, 3}, true, some.data(), some.data(), 64));
    EXPECT_FALSE(agree({type, Operator::average, 3}, true, some.data(), others.data(), 64)) << device::name(type);
  }
}

}  // namespace
}  // namespace sennit::bench::collective
