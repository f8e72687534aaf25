#include "shim/mpi/types.h"

#include <gtest/gtest.h>

#include "shim/mpi/table.h"

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

TEST(Types, NumbersAreReducedAsTheyAre) {
  const auto sum = numbers_of(called("float64"), Operator::sum);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->type, Type::float64);
  EXPECT_EQ(sum->per_element, 1u);
  EXPECT_TRUE(numbers_of(called("int32"), Operator::bit_xor));
  EXPECT_FALSE(numbers_of(called("float32"), Operator::bit_and));
  EXPECT_FALSE(numbers_of(called("float32"), Operator::logical_or));
}

TEST(Types, WhatIsNoNumberIsReducedByFewOperators) {
  EXPECT_TRUE(numbers_of(called("bytes"), Operator::bit_or));
  EXPECT_FALSE(numbers_of(called("bytes"), Operator::sum));
  EXPECT_TRUE(numbers_of(called("boolean"), Operator::logical_and));
  EXPECT_FALSE(numbers_of(called("boolean"), Operator::bit_and));
  for (const Operator op : device::all_operators()) EXPECT_FALSE(numbers_of(called("characters"), op));
}

TEST(Types, ComplexNumbersAreAddedAsTwo) {
  const auto sum = numbers_of(called("complex128"), Operator::sum);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->type, Type::float64);
  EXPECT_EQ(sum->per_element, 2u);
  EXPECT_FALSE(numbers_of(called("complex64"), Operator::product));
  EXPECT_EQ(bytes_of(called("complex64")), 8u);
  EXPECT_EQ(bytes_of(called("complex128")), 16u);
  EXPECT_EQ(bytes_of(called("bytes")), 1u);
}

TEST(Types, NothingButSumsOfComplexNumbers) {
  for (const Operator op : device::all_operators())
    for (const Meaning meaning : {called("complex64"), called("complex128")})
      EXPECT_EQ(numbers_of(meaning, op).has_value(), op == Operator::sum) << device::name(op);
}

TEST(Types, BytesAndBooleansHaveThreeOperatorsEach) {
  for (const Operator op : device::all_operators()) {
    const bool bitwise = op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
    const bool logical = op == Operator::logical_and || op == Operator::logical_or || op == Operator::logical_xor;
    EXPECT_EQ(numbers_of(called("bytes"), op).has_value(), bitwise) << device::name(op);
    EXPECT_EQ(numbers_of(called("boolean"), op).has_value(), logical) << device::name(op);
    EXPECT_EQ(numbers_of(called("float32"), op).has_value(), !bitwise && !logical) << device::name(op);
    EXPECT_TRUE(numbers_of(called("uint16"), op)) << device::name(op);
  }
}

TEST(Types, WhatANumberIsAgreesWithItsBytes) {
  for (const Predefined& one : kPredefined) {
    if (one.kind != "type" || one.meaning == "-") continue;
    for (const Operator op : device::all_operators())
      if (const auto numbers = numbers_of(called(one.meaning), op)) {
        EXPECT_EQ(numbers->per_element * device::bytes_of(numbers->type), bytes_of(called(one.meaning))) << one.name;
      }
  }
}

}  // namespace
}  // namespace sennit::shim::mpi
