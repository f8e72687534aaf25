// Copies rows of one memory to the same places of another, and nothing between them.
//
// 1. Block b takes rows b, b + B, b + 2B … .
// 2. It copies each; the last one may be cut off. Nothing is signalled: the end of the launch publishes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/block.h"
#include "stage/strided.h"

namespace sennit::stage {

struct StridedCopy {
  static constexpr const char* kName = "strided_copy";

  std::byte* to;
  const std::byte* from;
  Strided rows;        ///< of both, from there on
  std::uint64_t most;  ///< bytes of data to copy: the first ones

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const auto row = static_cast<std::uint64_t>(rows.bytes);
    for (std::uint64_t r = block.index(); r * row < most; r += block.count()) {
      const std::int64_t plane = static_cast<std::int64_t>(r) / rows.rows,
                         line = static_cast<std::int64_t>(r) % rows.rows;
      const std::int64_t at = rows.first + plane * rows.plane_stride + line * rows.stride;
      block.copy(to + at, from + at, most - r * row < row ? most - r * row : row);
    }
  }

  /// Returns the threads of a launch that has few threads with nothing to do, and enough blocks for many short rows.
  /// Defaults.
  unsigned threads() const { return rows.bytes <= 512 ? 32 : rows.bytes <= 4096 ? 256 : device::kBlockThreads; }
  unsigned blocks() const {
    constexpr std::uint64_t kMostBlocks = 1024;
    const auto row = static_cast<std::uint64_t>(rows.bytes);
    const std::uint64_t all = most / row + (most % row != 0 ? 1 : 0);
    return static_cast<unsigned>(all < kMostBlocks ? all : kMostBlocks);
  }
};

}  // namespace sennit::stage
