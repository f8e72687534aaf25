// What collectives should give, computed in the plainest way: numbers as double, one at a time, by code of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "device/reduction.h"

namespace sennit::coll {

/// Exponent and mantissa bits of the types narrower than float32.
struct SmallFloat {
  int exponent, mantissa;
};
inline SmallFloat small_float(device::Type type) {
  switch (type) {
    case device::Type::float16: return {5, 10};
    case device::Type::bfloat16: return {8, 7};
    case device::Type::float8_e4m3: return {4, 3};
    default: return {5, 2};
  }
}

inline double decode_small(std::uint32_t bits, device::Type type) {
  const auto [exponent_bits, mantissa_bits] = small_float(type);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint32_t exponent = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) != 0 ? -1 : 1;
  if (type == device::Type::float8_e4m3) {
    if (exponent == 15 && mantissa == 7) return NAN;
  } else if (exponent == (1u << exponent_bits) - 1) {
    return mantissa != 0 ? NAN : sign * INFINITY;
  }
  if (exponent == 0) return sign * std::ldexp(double(mantissa), 1 - bias - mantissa_bits);
  return sign * std::ldexp(1 + std::ldexp(double(mantissa), -mantissa_bits), int(exponent) - bias);
}

template <class T>
double read_as(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<double>(value);
}
template <class T>
void write_as(void* at, double number) {
  const T value = static_cast<T>(number);
  std::memcpy(at, &value, sizeof value);
}

inline double decode(const std::byte* at, device::Type type) {
  switch (type) {
    case device::Type::int8: return read_as<std::int8_t>(at);
    case device::Type::uint8: return read_as<std::uint8_t>(at);
    case device::Type::int16: return read_as<std::int16_t>(at);
    case device::Type::uint16: return read_as<std::uint16_t>(at);
    case device::Type::int32: return read_as<std::int32_t>(at);
    case device::Type::uint32: return read_as<std::uint32_t>(at);
    case device::Type::int64: return read_as<std::int64_t>(at);
    case device::Type::uint64: return read_as<std::uint64_t>(at);
    case device::Type::float32: return read_as<float>(at);
    case device::Type::float64: return read_as<double>(at);
    case device::Type::float16:
    case device::Type::bfloat16: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, at, 2);
      return decode_small(bits, type);
    }
    default: return decode_small(std::to_integer<std::uint32_t>(*at), type);
  }
}

/// The stored number nearest to `number`, found by trying them all where there are few.
inline void encode(std::byte* at, device::Type type, double number) {
  switch (type) {
    case device::Type::int8: return write_as<std::int8_t>(at, number);
    case device::Type::uint8: return write_as<std::uint8_t>(at, number);
    case device::Type::int16: return write_as<std::int16_t>(at, number);
    case device::Type::uint16: return write_as<std::uint16_t>(at, number);
    case device::Type::int32: return write_as<std::int32_t>(at, number);
    case device::Type::uint32: return write_as<std::uint32_t>(at, number);
    case device::Type::int64: return write_as<std::int64_t>(at, number);
    case device::Type::uint64: return write_as<std::uint64_t>(at, number);
    case device::Type::float32: return write_as<float>(at, number);
    case device::Type::float64: return write_as<double>(at, number);
    default: break;
  }
  const unsigned bytes = device::bytes_of(type);
  static std::map<std::pair<device::Type, double>, std::uint32_t> known;
  auto [found, is_new] = known.try_emplace({type, number}, 0);
  if (is_new) {
    double nearest = INFINITY;
    for (std::uint32_t bits = 0; bits < 1u << (8 * bytes); ++bits) {
      const double off = std::abs(decode_small(bits, type) - number);
      if (off < nearest) {
        nearest = off;
        found->second = bits;
      }
    }
  }
  std::memcpy(at, &found->second, bytes);
}

inline double combine(device::Operator op, double a, double b) {
  const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
  switch (op) {
    case device::Operator::product: return a * b;
    case device::Operator::min: return std::min(a, b);
    case device::Operator::max: return std::max(a, b);
    case device::Operator::bit_and: return double(x & y);
    case device::Operator::bit_or: return double(x | y);
    case device::Operator::bit_xor: return double(x ^ y);
    case device::Operator::logical_and: return a != 0 && b != 0 ? 1 : 0;
    case device::Operator::logical_or: return a != 0 || b != 0 ? 1 : 0;
    case device::Operator::logical_xor: return (a != 0) != (b != 0) ? 1 : 0;
    default: return a + b;
  }
}

/// One result, from every rank's number.
inline double reduce(const device::Reduction& reduction, const std::vector<double>& inputs) {
  const bool integer = device::is_integer(reduction.type);
  const double scale = reduction.op != device::Operator::premultiplied_sum ? 1
                       : integer                                           ? double(reduction.integer_scale)
                                                                           : reduction.real_scale;
  double result = inputs[0] * scale;
  for (std::size_t i = 1; i < inputs.size(); ++i) result = combine(reduction.op, result, inputs[i] * scale);
  if (reduction.op == device::Operator::average) result /= double(inputs.size());
  return integer ? std::trunc(result) : result;
}

/// A number that every type holds exactly, and whose sums and products over eight ranks it holds too.
inline double sample(device::Type type, device::Operator op, int rank, std::uint64_t index) {
  const std::uint64_t mixed = (index * 7 + index / 13 + static_cast<std::uint64_t>(rank) * 5) % 11;
  if (op == device::Operator::product) return mixed % 4 == 0 ? 2 : 1;
  if (type == device::Type::float8_e5m2) return mixed % 2 == 0 ? 1 : 0;
  if (type == device::Type::float8_e4m3) return double(mixed % 3);
  return double(mixed);
}

/// How far a result may be off: exact but where dividing or scaling rounds.
inline double tolerance(const device::Reduction& reduction) {
  if (device::is_integer(reduction.type) || reduction.op != device::Operator::average) return 0;
  switch (reduction.type) {
    case device::Type::float64: return 1e-14;
    case device::Type::float32: return 1e-6;
    case device::Type::float16: return 4e-3;
    case device::Type::bfloat16: return 3e-2;
    case device::Type::float8_e4m3: return 0.3;
    default: return 0.6;
  }
}

}  // namespace sennit::coll
