// Names what is reduced, and how: element types and operators, by the field's names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "device/program.h"

namespace sennit::device {

enum class Type : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3,
  float8_e5m2,
};
inline constexpr int kTypes = 14;

enum class Operator : std::uint8_t {
  sum,
  product,
  min,
  max,
  average,            ///< floating point: every input divided by the number of ranks, then summed; integers: after
  premultiplied_sum,  ///< every input times Reduction::scale, then summed
  bit_and,
  bit_or,
  bit_xor,
  logical_and,  ///< 1 or 0, but for one input alone
  logical_or,
  logical_xor,
};
inline constexpr int kOperators = 12;

/// Returns the bytes of an element.
SENNIT_DEVICE constexpr unsigned bytes_of(Type type) {
  switch (type) {
    case Type::int8:
    case Type::uint8:
    case Type::float8_e4m3:
    case Type::float8_e5m2: return 1;
    case Type::int16:
    case Type::uint16:
    case Type::float16:
    case Type::bfloat16: return 2;
    case Type::int32:
    case Type::uint32:
    case Type::float32: return 4;
    case Type::int64:
    case Type::uint64:
    case Type::float64: return 8;
  }
  return 1;
}
SENNIT_DEVICE constexpr bool is_integer(Type type) {
  return type <= Type::uint64;
}
/// Bit and logical operators are for integers alone.
SENNIT_DEVICE constexpr bool supports(Type type, Operator op) {
  return is_integer(type) || op < Operator::bit_and;
}

std::string_view name(Type type);    ///< "float32"
std::string_view name(Operator op);  ///< "premultiplied_sum"
std::span<const Type> all_types();
std::span<const Operator> all_operators();
/// Errors: invalid_argument, listing the names there are.
Result<Type> parse_type(std::string_view text);
Result<Operator> parse_operator(std::string_view text);

}  // namespace sennit::device
