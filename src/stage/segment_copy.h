// Copies segments of one memory to the same places of another, and nothing between them: a list says where they lie,
// which the executor reads as it goes.
//
// 1. Segment i of the list is copied `times` times, `stride` bytes apart: segment s of all is number s / times of the
//    list and its time s % times.
// 2. Block b takes segments b, b + B, b + 2B … . Nothing is signalled: the end of the launch publishes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/block.h"
#include "stage/segments.h"

namespace sennit::stage {

struct SegmentCopy {
  static constexpr const char* kName = "segment_copy";
  /// Longer ones are to be cut, since a block copies one alone. A default, as long as a block of its size takes some
  /// microseconds for.
  static constexpr std::int64_t kMost = 64 << 10;

  std::byte* to;
  const std::byte* from;
  const Segment* segments;  ///< memory that all executors' devices reach
  std::uint64_t count;      ///< of the list
  std::uint64_t times;
  std::int64_t stride;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    for (std::uint64_t s = block.index(); s < count * times; s += block.count()) {
      const Segment segment = segments[s / times];
      const std::int64_t at = segment.first + static_cast<std::int64_t>(s % times) * stride;
      block.copy(to + at, from + at, static_cast<std::uint64_t>(segment.bytes));
    }
  }

  /// Returns the threads of a launch that has few threads with nothing to do for segments of so many bytes, and
  /// enough blocks for many short ones. Defaults.
  static unsigned threads(std::uint64_t bytes_of_a_segment) {
    return bytes_of_a_segment <= 512 ? 32 : bytes_of_a_segment <= 4096 ? 256 : device::kBlockThreads;
  }
  unsigned blocks() const {
    constexpr std::uint64_t kMostBlocks = 1024;
    const std::uint64_t all = count * times;
    return static_cast<unsigned>(all < kMostBlocks ? all : kMostBlocks);
  }
};

}  // namespace sennit::stage
