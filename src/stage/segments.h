// Lists where data lies in memory, of any layout, so that what lies between need never be written.
#pragma once

#include <cstdint>
#include <vector>

namespace sennit::stage {

/// Bytes side by side.
struct Segment {
  std::int64_t first;  ///< from an address on: of a buffer, or of an element
  std::int64_t bytes;
  bool operator==(const Segment&) const = default;
};

/// Segments in the order of addresses, each with a gap behind it, and the same again `times` times, `stride` bytes
/// apart.
struct Segments {
  std::vector<Segment> each;
  std::int64_t times = 1, stride = 0;

  std::int64_t bytes() const {
    std::int64_t all = 0;
    for (const Segment& one : each) all += one.bytes;
    return all * times;
  }
  /// Calls visit(segment) of each, the times spelled out, until it returns false. Returns whether it never did.
  template <class Visit>
  bool visit(const Visit& visit) const {
    for (std::int64_t time = 0; time < times; ++time)
      for (const Segment& one : each)
        if (!visit(Segment{one.first + time * stride, one.bytes})) return false;
    return true;
  }
};

}  // namespace sennit::stage
