// The small float types against their definition, number by number.
#include "device/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "device/reduction.h"

namespace sennit::device {
namespace {

/// What the bits mean, by IEEE 754's and the Open Compute Project's definitions.
double meaning(std::uint32_t bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>((bits >> mantissa_bits) & ((1u << exponent_bits) - 1));
  const double mantissa = (bits & ((1u << mantissa_bits) - 1)) / std::ldexp(1.0, mantissa_bits);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) != 0 ? -1 : 1;
  const int largest = (1 << exponent_bits) - 1;
  if (has_infinity && exponent == largest) return mantissa == 0 ? sign * INFINITY : NAN;
  if (!has_infinity && exponent == largest && mantissa == 0.875) return NAN;
  return sign * (exponent == 0 ? std::ldexp(mantissa, 1 - bias) : std::ldexp(1 + mantissa, exponent - bias));
}

template <class Stored>
void check_all(int exponent_bits, int mantissa_bits, bool has_infinity) {
  const std::uint32_t count = 1u << (8 * sizeof(Stored));
  std::vector<std::pair<double, std::uint32_t>> finite;
  for (std::uint32_t bits = 0; bits < count; ++bits) {
    const double expected = meaning(bits, exponent_bits, mantissa_bits, has_infinity);
    const Stored stored{static_cast<decltype(Stored::bits)>(bits)};
    const float widened = Number<Stored>::widen(stored);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(widened)) << bits;
      ASSERT_TRUE(std::isnan(Number<Stored>::widen(Number<Stored>::narrow(widened)))) << bits;
      continue;
    }
    ASSERT_EQ(double(widened), expected) << bits;
    ASSERT_EQ(std::signbit(widened), std::signbit(expected)) << bits;
    if (std::isinf(expected)) continue;
    ASSERT_EQ(Number<Stored>::narrow(widened).bits, stored.bits) << bits;
    if (!std::signbit(expected)) finite.emplace_back(expected, bits);
  }
  std::ranges::sort(finite);
  // Between two neighbours: to the nearer one, in the middle to the even one.
  for (std::size_t i = 0; i + 1 < finite.size(); ++i) {
    const auto [low, low_bits] = finite[i];
    const auto [high, high_bits] = finite[i + 1];
    const auto middle = float((low + high) / 2);
    if (double(middle) != (low + high) / 2) continue;  // float32 cannot say it (neighbours of bfloat16's subnormals)
    ASSERT_EQ(Number<Stored>::narrow(middle).bits, low_bits % 2 == 0 ? low_bits : high_bits) << low;
    ASSERT_EQ(Number<Stored>::narrow(std::nextafter(middle, 0.0f)).bits, low_bits) << low;
    ASSERT_EQ(Number<Stored>::narrow(std::nextafter(middle, INFINITY)).bits, high_bits) << low;
  }
}

TEST(Number, Float16IsIeee) {
  check_all<Float16>(5, 10, true);
  EXPECT_EQ(Number<Float16>::narrow(65519.0f).bits, 0x7BFF);
  EXPECT_EQ(Number<Float16>::narrow(65520.0f).bits, 0x7C00) << "rounds up to infinity";
  EXPECT_EQ(Number<Float16>::narrow(-INFINITY).bits, 0xFC00);
}

TEST(Number, Bfloat16IsTheUpperHalfOfFloat32) {
  check_all<Bfloat16>(8, 7, true);
  EXPECT_EQ(Number<Bfloat16>::narrow(std::numeric_limits<float>::max()).bits, 0x7F80) << "rounds up to infinity";
}

TEST(Number, Float8SaturatesAtTheLargestFiniteNumber) {
  check_all<Float8E4m3>(4, 3, false);
  check_all<Float8E5m2>(5, 2, true);
  EXPECT_EQ(Number<Float8E4m3>::widen(Number<Float8E4m3>::narrow(1e9f)), 448.0f);
  EXPECT_EQ(Number<Float8E4m3>::widen(Number<Float8E4m3>::narrow(-INFINITY)), -448.0f);
  EXPECT_EQ(Number<Float8E5m2>::widen(Number<Float8E5m2>::narrow(INFINITY)), 57344.0f);
}

template <class T>
T reduced(Operator op, Type type, std::vector<T> values, std::uint32_t ranks = 1) {
  Operands operands;
  for (const T& value : values) operands.from[operands.sources++] = &value;
  T result{};
  operands.to[operands.destinations++] = &result;
  reduce_on_host({type, op, ranks}, operands, sizeof(T), {~0u, true});
  return result;
}

TEST(Reduction, IntegersWrapAndAveragesAreCutTowardsZero) {
  EXPECT_EQ(reduced<std::int8_t>(Operator::sum, Type::int8, {100, 100}), std::int8_t(-56));
  EXPECT_EQ(reduced<std::int32_t>(Operator::product, Type::int32, {1 << 20, 1 << 20, 3}), 0);
  EXPECT_EQ(reduced<std::uint64_t>(Operator::sum, Type::uint64, {~std::uint64_t{0}, 2}), 1u);
  EXPECT_EQ(reduced<std::int32_t>(Operator::average, Type::int32, {-3, -4}, 2), -3);
  EXPECT_EQ(reduced<std::uint8_t>(Operator::min, Type::uint8, {200, 7}), 7);
  EXPECT_EQ(reduced<std::int8_t>(Operator::max, Type::int8, {-56, 7}), 7);
}

TEST(Reduction, OfANumberAndNanExtremesTakeTheNumberAndSumsNan) {
  EXPECT_EQ(reduced<float>(Operator::max, Type::float32, {NAN, 1.0f}), 1.0f);
  EXPECT_EQ(reduced<float>(Operator::min, Type::float32, {1.0f, NAN}), 1.0f);
  EXPECT_TRUE(std::isnan(reduced<float>(Operator::sum, Type::float32, {1.0f, NAN})));
  EXPECT_TRUE(std::isnan(reduced<double>(Operator::sum, Type::float64, {INFINITY, -INFINITY})));
}

TEST(Reduction, HalfTypesAreSummedInFloat32) {
  // 2048 + 1 + 1: float16 alone would lose both ones.
  const auto half = [](float value) { return Number<Float16>::narrow(value); };
  const auto sum = reduced<Float16>(Operator::sum, Type::float16, {half(2048), half(1), half(1)});
  EXPECT_EQ(Number<Float16>::widen(sum), 2050.0f);
}

/// Bits of packs by the loop that kernels have for all three operators, against the rule that is looked up.
template <class T>
void expect_one_loop_is_enough(Type type) {
  const auto with = [type](Operator op) { return Reduction{type, op, 7, 0.3, 1}; };
  std::mt19937 random(20261125);
  for (const Operator op : {Operator::sum, Operator::average, Operator::premultiplied_sum}) {
    ASSERT_TRUE(is_fast(with(op)));
    const Fixed<rules::ScaledSum<T>> loop{{rules::scale_of<T>(with(op))}};
    for (int round = 0; round < 4000; ++round) {
      const unsigned sources = 1 + static_cast<unsigned>(random()) % kMostOperands;
      const Stage stage{static_cast<unsigned>(random()) & 0xFFu, random() % 2 == 0};
      Pack<8> from[kMostOperands];
      // Any bits: also subnormal numbers, infinities, and numbers whose sums are neither.
      for (Pack<8>& pack : from)
        for (std::uint32_t& word : pack.word) word = static_cast<std::uint32_t>(random());
      const Pack<8> ours = loop(from, sources, stage);
      const Pack<8> expected = reduce_pack_on_host(with(op), from, sources, stage);
      T found[8 / sizeof(T)], wanted[8 / sizeof(T)];
      std::memcpy(found, &ours, sizeof ours);
      std::memcpy(wanted, &expected, sizeof expected);
      for (unsigned i = 0; i < 8 / sizeof(T); ++i) {
        const float one = Number<T>::widen(found[i]), other = Number<T>::widen(wanted[i]);
        if (std::isnan(other))
          ASSERT_TRUE(std::isnan(one)) << name(op);
        else
          ASSERT_EQ(std::memcmp(&found[i], &wanted[i], sizeof(T)), 0) << name(op) << ": " << one << ", " << other;
      }
    }
  }
}

TEST(Reduction, OneLoopServesSumsAveragesAndPremultipliedSums) {
  expect_one_loop_is_enough<float>(Type::float32);
  expect_one_loop_is_enough<Float16>(Type::float16);
  expect_one_loop_is_enough<Bfloat16>(Type::bfloat16);
  EXPECT_FALSE(is_fast({Type::float64, Operator::average}));
  EXPECT_FALSE(is_fast({Type::float8_e4m3, Operator::sum}));
  EXPECT_FALSE(is_fast({Type::float32, Operator::max}));
}

TEST(Reduction, AveragesDivideInputsAndNotWhatIsAddedAlready) {
  // A step that scaled its sum, or a partial sum again, would give other bits.
  const float third = 1.0f / 3;
  const float partial = 0.1f * third + 0.2f * third;
  float input = 0.7f, result = 0;
  Operands operands;
  operands.from[0] = &partial;
  operands.from[1] = &input;
  operands.sources = 2;
  operands.to[operands.destinations++] = &result;
  reduce_on_host({Type::float32, Operator::average, 3}, operands, sizeof result, {2, true});
  EXPECT_EQ(result, partial + 0.7f * third);
}

TEST(Reduction, LogicMakesOnesAndZeros) {
  EXPECT_EQ(reduced<std::int32_t>(Operator::logical_and, Type::int32, {5, -7}), 1);
  EXPECT_EQ(reduced<std::int32_t>(Operator::logical_xor, Type::int32, {5, -7}), 0);
  EXPECT_EQ(reduced<std::uint8_t>(Operator::logical_or, Type::uint8, {0, 0}), 0);
  EXPECT_EQ(reduced<std::int32_t>(Operator::logical_or, Type::int32, {-7}), -7) << "there is no other one";
  EXPECT_EQ(reduced<std::uint8_t>(Operator::bit_xor, Type::uint8, {0xF0, 0x3C}), 0xCC);
}

TEST(Type, NamesAreReadBack) {
  for (const Type type : all_types()) EXPECT_EQ(*parse_type(name(type)), type);
  for (const Operator op : all_operators()) EXPECT_EQ(*parse_operator(name(op)), op);
  EXPECT_NE(parse_type("half").status().text().find("float16"), std::string::npos);
  EXPECT_FALSE(supports(Type::bfloat16, Operator::bit_or));
  EXPECT_TRUE(supports(Type::uint8, Operator::logical_and));
}

}  // namespace
}  // namespace sennit::device
