#include "shim/mpi/abi/types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <functional>

#include "shim/mpi/abi/table.h"

namespace sennit::shim::mpi {
namespace {

using device::Operator;
using device::Type;

Meaning called(std::string_view name) {
  return parse_meaning(name).value();
}

TEST(Types, EveryPredefinedTypeAndOperatorHasAMeaning) {
  int types = 0, operators = 0;
  for (const Predefined& one : kPredefined) {
    if (one.meaning == "-") continue;
    if (one.kind == "type") {
      ++types;
      EXPECT_TRUE(parse_meaning(one.meaning).has_value()) << one.name;
    } else {
      ++operators;
      EXPECT_TRUE(device::parse_operator(one.meaning).ok()) << one.name;
    }
  }
  EXPECT_EQ(operators, 10);
  EXPECT_GT(types, 30);
  EXPECT_FALSE(parse_meaning("float128").has_value());
}

/// An MPI that takes elements for T's and combines them so.
template <class T, class Combine>
ReduceLocal taking(Combine combine) {
  return [combine](const void* in, void* inout, int count) {
    for (int i = 0; i < count; ++i) {
      T a, b;
      std::memcpy(&a, static_cast<const T*>(in) + i, sizeof a);
      std::memcpy(&b, static_cast<T*>(inout) + i, sizeof b);
      b = static_cast<T>(combine(a, b));
      std::memcpy(static_cast<T*>(inout) + i, &b, sizeof b);
    }
    return 0;
  };
}
constexpr auto kLeast = [](auto a, auto b) { return a < b ? a : b; };

TEST(Types, NumbersAreWhatTheMpiTakesThemFor) {
  const auto as_named = numbers_like(taking<std::uint32_t>(kLeast), called("uint32"), Operator::min);
  ASSERT_TRUE(as_named);
  EXPECT_EQ(as_named->type, Type::uint32);
  EXPECT_EQ(as_named->per_element, 1u);
  // MPI_OFFSET of Open MPI, unsigned numbers of MPICH 4.0, char where it has no sign.
  EXPECT_EQ(numbers_like(taking<std::uint64_t>(kLeast), called("int64"), Operator::min)->type, Type::uint64);
  EXPECT_EQ(numbers_like(taking<std::int32_t>(kLeast), called("uint32"), Operator::min)->type, Type::int32);
  EXPECT_EQ(numbers_like(taking<std::uint8_t>(kLeast), called("int8"), Operator::min)->type, Type::uint8);
}

TEST(Types, WhatTheMpiDoesOtherwiseIsLeftToIt) {
  EXPECT_FALSE(numbers_like(taking<float>(kLeast), called("int32"), Operator::min));
  const auto keeps_bits = taking<std::int32_t>([](auto a, auto b) { return a & b; });
  EXPECT_FALSE(numbers_like(keeps_bits, called("int32"), Operator::logical_and)) << "it makes no 1";
  const ReduceLocal refuses = [](const void*, void*, int) { return 10; };
  EXPECT_FALSE(numbers_like(refuses, called("int32"), Operator::sum));
  // Neither has sennit such reductions, nor is the MPI asked.
  const ReduceLocal ends = [](const void*, void*, int) { return ADD_FAILURE(), 0; };
  EXPECT_FALSE(numbers_like(ends, called("float64"), Operator::logical_or));
}

TEST(Types, SumsAreTriedThatNoTypeIsTooShortFor) {
  // As vector instructions do it.
  const auto saturate = taking<std::int8_t>([](int a, int b) { return std::clamp(a + b, -128, 127); });
  EXPECT_EQ(numbers_like(saturate, called("int8"), Operator::sum)->type, Type::int8);
}

TEST(Types, TruthsAreOnesAndZeros) {
  const auto any = taking<std::uint8_t>([](auto a, auto b) { return a != 0 ? a : b; });
  EXPECT_TRUE(numbers_like(any, called("truth8"), Operator::logical_or));
  EXPECT_FALSE(numbers_like(any, called("uint8"), Operator::logical_or));
  const auto of_fortran = taking<std::int32_t>([](auto a, auto b) { return a == -1 && b == -1 ? -1 : 0; });
  EXPECT_FALSE(numbers_like(of_fortran, called("truth32"), Operator::logical_and)) << "its truth is -1";
}

TEST(Types, ComplexNumbersAreAddedAsTwo) {
  using Complex = std::complex<double>;
  const auto sum = numbers_like(taking<Complex>(std::plus<Complex>()), called("complex128"), Operator::sum);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->type, Type::float64);
  EXPECT_EQ(sum->per_element, 2u);
  EXPECT_FALSE(numbers_like(taking<Complex>(std::multiplies<Complex>()), called("complex128"), Operator::product));
  EXPECT_EQ(bytes_of(called("complex64")), 8u);
  EXPECT_EQ(bytes_of(called("complex128")), 16u);
  EXPECT_EQ(bytes_of(called("truth32")), 4u);
}

}  // namespace
}  // namespace sennit::shim::mpi
