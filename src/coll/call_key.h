// Holds what a plan is chosen for: what all ranks know of a call.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>

#include "coll/operation.h"
#include "device/reduction.h"

namespace sennit::coll {

/// Says what is done to numbers on their way.
enum class Arithmetic : std::uint8_t {
  none,     ///< nothing: bytes are moved
  fast,     ///< sums, averages and premultiplied sums of float32, float16 and bfloat16: device::is_fast()
  general,  ///< any other type and operator, whose rule is looked up pack by pack
};
inline constexpr int kArithmetics = 3;

std::string_view name(Arithmetic arithmetic);
/// Errors: invalid_argument, listing the names there are.
Result<Arithmetic> parse_arithmetic(std::string_view text);

struct CallKey {
  Operation operation = Operation::allreduce;
  Arithmetic arithmetic = Arithmetic::none;
  std::uint64_t bytes = 0;  ///< Call::bytes
  bool windows = false;     ///< the buffers lie in symmetric windows on every rank: windows.h

  bool operator==(const CallKey&) const = default;
};

struct HashOfCallKey {
  std::size_t operator()(const CallKey& which) const {
    const auto kind =
        static_cast<std::size_t>(which.operation) * kArithmetics + static_cast<std::size_t>(which.arithmetic);
    return std::hash<std::uint64_t>()(which.bytes) * 63 + 2 * kind + (which.windows ? 1 : 0);
  }
};

constexpr CallKey call_key_of(Operation operation, const device::Reduction& reduction, std::uint64_t bytes,
                              bool windows = false) {
  if (!reduces(operation)) return {operation, Arithmetic::none, bytes, windows};
  return {operation, device::is_fast(reduction) ? Arithmetic::fast : Arithmetic::general, bytes, windows};
}

/// Calls that share a decision: `bytes` rounded up to four sizes an octave, so that what fits at this size fits
/// below.
constexpr std::uint64_t bucket_of(std::uint64_t bytes) {
  if (bytes <= 8) return 8;
  if (bytes > std::uint64_t{1} << 62) return bytes;
  const std::uint64_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}
constexpr CallKey bucket_of(const CallKey& which) {
  return {which.operation, which.arithmetic, bucket_of(which.bytes), which.windows};
}

}  // namespace sennit::coll
