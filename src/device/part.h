// Cutting a message into parts that blocks, or ranks, work on.
#pragma once

#include <cstdint>

#include "device/program.h"

namespace sennit::device {

/// Parts begin at multiples of it, so that they keep the alignment of the whole, and no number is cut.
inline constexpr std::uint64_t kPartUnit = 16;

/// Bytes [begin, end) of a message.
struct Part {
  std::uint64_t begin, end;
  SENNIT_DEVICE std::uint64_t bytes() const { return end - begin; }
};

/// Part `index` of `count` equal ones; the last ones are shorter, or empty.
SENNIT_DEVICE Part part_of(std::uint64_t bytes, unsigned index, unsigned count) {
  std::uint64_t each = (bytes + count - 1) / count;
  each = (each + kPartUnit - 1) / kPartUnit * kPartUnit;
  const std::uint64_t begin = each * index < bytes ? each * index : bytes;
  const std::uint64_t end = begin + each < bytes ? begin + each : bytes;
  return {begin, end};
}

}  // namespace sennit::device
