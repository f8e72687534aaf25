// Reads the number that a premultiplied sum multiplies its inputs with, as callers hold it.
#pragma once

#include <cstdint>
#include <cstring>

#include "device/reduction.h"

namespace sennit::device {

/// Reads the scale, which has the reduction's own type; of types narrower than float32 it is a float.
inline void read_scale(Reduction& reduction, const void* scale) {
  const auto read = [scale]<class T>(T value) {
    std::memcpy(&value, scale, sizeof value);
    return value;
  };
  switch (reduction.type) {
    case Type::int8: reduction.integer_scale = read(std::int8_t()); break;
    case Type::uint8: reduction.integer_scale = read(std::uint8_t()); break;
    case Type::int16: reduction.integer_scale = read(std::int16_t()); break;
    case Type::uint16: reduction.integer_scale = read(std::uint16_t()); break;
    case Type::int32: reduction.integer_scale = read(std::int32_t()); break;
    case Type::uint32: reduction.integer_scale = read(std::uint32_t()); break;
    case Type::int64:
    case Type::uint64: reduction.integer_scale = read(std::int64_t()); break;
    case Type::float64: reduction.real_scale = read(double()); break;
    default: reduction.real_scale = static_cast<double>(read(float()));
  }
}

}  // namespace sennit::device
