// Cuts a message into parts that blocks, or ranks, work on.
#pragma once

#include <cstdint>

#include "device/program.h"

namespace sennit::device {

/// Parts begin at multiples of it, so that they keep the alignment of the whole, and no number is cut.
inline constexpr std::uint64_t kPartUnit = 16;
/// Parts longer than kLongPart, a default, begin at multiples of it: a cache line.
inline constexpr std::uint64_t kLongPartUnit = 128, kLongPart = 8192;

/// `bytes` rounded down to units of parts that are so long.
SENNIT_DEVICE constexpr std::uint64_t in_units(std::uint64_t bytes) {
  const std::uint64_t unit = bytes > kLongPart ? kLongPartUnit : kPartUnit;
  return bytes / unit * unit;
}

/// Bytes [begin, end) of a message.
struct Part {
  std::uint64_t begin, end;
  SENNIT_DEVICE std::uint64_t bytes() const { return end - begin; }
};

/// Returns part `index` where each has `each` bytes; the last ones are shorter, or empty.
SENNIT_DEVICE Part part_at(std::uint64_t bytes, std::uint64_t each, unsigned index) {
  const std::uint64_t begin = each * index, end = begin + each;
  return {begin < bytes ? begin : bytes, end < bytes ? end : bytes};
}

/// Returns part `index` of `count` equal ones; the last ones are shorter, or empty.
SENNIT_DEVICE Part part_of(std::uint64_t bytes, unsigned index, unsigned count) {
  std::uint64_t each = (bytes + count - 1) / count;
  const std::uint64_t unit = each > kLongPart ? kLongPartUnit : kPartUnit;
  each = (each + unit - 1) / unit * unit;
  return part_at(bytes, each, index);
}

}  // namespace sennit::device
