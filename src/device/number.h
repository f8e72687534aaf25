// Defines the numbers that collectives reduce, on the host and in kernels: how each type is stored, and what it is
// computed in. Types narrower than float32 are computed in float32 and rounded to nearest even when stored; float8
// saturates at its largest finite value, NaN stays NaN (as NCCL's conversions do). Conversions on the host are bit
// for bit those of the GPU's instructions.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "device/program.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif

namespace sennit::device {

/// Storage of the types that C++20 has no name for.
struct Float16 {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};
struct Float8E4m3 {
  std::uint8_t bits;
};
struct Float8E5m2 {
  std::uint8_t bits;
};

namespace number {

SENNIT_DEVICE std::uint32_t bits_of(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value);
#else
  return std::bit_cast<std::uint32_t>(value);
#endif
}
SENNIT_DEVICE float float_of(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

/// Widens a number of an IEEE-like small format (`exponent` and `mantissa` bits, with subnormals) to a float32.
template <int kExponent, int kMantissa>
SENNIT_DEVICE float widen(std::uint32_t bits) {
  constexpr std::uint32_t kLargest = (1u << kExponent) - 1;
  const std::uint32_t sign = (bits >> (kExponent + kMantissa)) << 31;
  const std::uint32_t exponent = (bits >> kMantissa) & kLargest;
  const std::uint32_t mantissa = bits & ((1u << kMantissa) - 1);
  constexpr std::uint32_t kBias = 127 - ((1u << (kExponent - 1)) - 1);
  if (exponent == 0) {
    // A power of two times the mantissa, exact in float32.
    const float unit = float_of((kBias + 1 - kMantissa) << 23);
    const float magnitude = static_cast<float>(mantissa) * unit;
    return float_of(bits_of(magnitude) | sign);
  }
  if (exponent == kLargest) return float_of(sign | 0x7F800000u | (mantissa << (23 - kMantissa)));
  return float_of(sign | ((exponent + kBias) << 23) | (mantissa << (23 - kMantissa)));
}

/// Rounds the float32 magnitude (no sign, finite) to nearest even in that format: exponent and mantissa bits, which
/// may have grown beyond the largest finite value.
template <int kExponent, int kMantissa>
SENNIT_DEVICE std::uint32_t narrow(std::uint32_t magnitude) {
  constexpr std::uint32_t kBias = 127 - ((1u << (kExponent - 1)) - 1);
  constexpr int kDropped = 23 - kMantissa;
  const std::uint32_t exponent = magnitude >> 23;
  if (exponent > kBias) {
    const std::uint32_t rebased = magnitude - (kBias << 23);
    return (rebased + ((1u << (kDropped - 1)) - 1) + ((rebased >> kDropped) & 1)) >> kDropped;
  }
  // Subnormal there: shift the full mantissa further right.
  const std::uint32_t shift = kDropped + (kBias + 1 - exponent);
  if (shift > 25) return 0;
  const std::uint32_t full = exponent == 0 ? (magnitude & 0x7FFFFFu) : ((magnitude & 0x7FFFFFu) | 0x800000u);
  return (full + ((1u << (shift - 1)) - 1) + ((full >> shift) & 1)) >> shift;
}

/// Float8 of a float32: beyond `largest`, the bits of the largest finite magnitude, it stays there; NaN is 0x7F.
template <int kExponent, int kMantissa>
SENNIT_DEVICE std::uint8_t narrow_saturating(float value, std::uint32_t largest) {
  const std::uint32_t bits = bits_of(value), magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return 0x7F;
  const std::uint32_t rounded = narrow<kExponent, kMantissa>(magnitude);
  return static_cast<std::uint8_t>(((bits >> 24) & 0x80u) | (rounded < largest ? rounded : largest));
}

}  // namespace number

/// Converts a stored number to one to compute with, and back.
template <class Stored>
struct Number {
  using Computed = Stored;
  SENNIT_DEVICE static Computed widen(Stored value) { return value; }
  SENNIT_DEVICE static Stored narrow(Computed value) { return value; }
};

template <>
struct Number<Float16> {
  using Computed = float;
  SENNIT_DEVICE static float widen(Float16 value) {
#ifdef __CUDA_ARCH__
    return __half2float(__ushort_as_half(value.bits));
#else
    return number::widen<5, 10>(value.bits);
#endif
  }
  SENNIT_DEVICE static Float16 narrow(float value) {
#ifdef __CUDA_ARCH__
    return {__half_as_ushort(__float2half_rn(value))};
#else
    const std::uint32_t bits = number::bits_of(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return {0x7FFF};  // as cvt.rn.f16.f32 gives it
    if (magnitude == 0x7F800000u) return {static_cast<std::uint16_t>(sign | 0x7C00u)};
    const std::uint32_t rounded = number::narrow<5, 10>(magnitude);
    return {static_cast<std::uint16_t>(sign | (rounded < 0x7C00u ? rounded : 0x7C00u))};
#endif
  }
};

template <>
struct Number<Bfloat16> {
  using Computed = float;
  SENNIT_DEVICE static float widen(Bfloat16 value) {
    return number::float_of(static_cast<std::uint32_t>(value.bits) << 16);
  }
  SENNIT_DEVICE static Bfloat16 narrow(float value) {
#ifdef __CUDA_ARCH__
    return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
#else
    const std::uint32_t bits = number::bits_of(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {0x7FFF};  // as cvt.rn.bf16.f32 gives it
    return {static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1)) >> 16)};
#endif
  }
};

template <>
struct Number<Float8E4m3> {
  using Computed = float;
  SENNIT_DEVICE static float widen(Float8E4m3 value) {
#ifdef __CUDA_ARCH__
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(value.bits, __NV_E4M3)));
#else
    // No infinities: the largest exponent holds numbers, all ones is the only NaN.
    if ((value.bits & 0x7Fu) == 0x7Fu) return number::float_of(0x7FFFFFFFu);
    if ((value.bits & 0x78u) == 0x78u) {
      const float magnitude = 256.0f * (1.0f + static_cast<float>(value.bits & 7u) / 8.0f);
      return (value.bits & 0x80u) != 0 ? -magnitude : magnitude;
    }
    return number::widen<4, 3>(value.bits);
#endif
  }
  SENNIT_DEVICE static Float8E4m3 narrow(float value) {
#ifdef __CUDA_ARCH__
    return {__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3)};
#else
    return {number::narrow_saturating<4, 3>(value, 0x7Eu)};
#endif
  }
};

template <>
struct Number<Float8E5m2> {
  using Computed = float;
  SENNIT_DEVICE static float widen(Float8E5m2 value) {
#ifdef __CUDA_ARCH__
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(value.bits, __NV_E5M2)));
#else
    return number::widen<5, 2>(value.bits);
#endif
  }
  SENNIT_DEVICE static Float8E5m2 narrow(float value) {
#ifdef __CUDA_ARCH__
    return {__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2)};
#else
    return {number::narrow_saturating<5, 2>(value, 0x7Bu)};
#endif
  }
};

}  // namespace sennit::device
