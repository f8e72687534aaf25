// Describes data that lies in rows of one length at one distance, and those in planes at one distance: a column of a
// matrix, a face of a grid, a part of an array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace sennit::stage {

/// All in bytes; rows follow each other in the order of the data.
struct Strided {
  std::int64_t first = 0;   ///< where the first row begins
  std::int64_t bytes = 0;   ///< of a row
  std::int64_t stride = 0;  ///< from row to row of a plane
  std::int64_t rows = 1;    ///< of a plane
  std::int64_t plane_stride = 0;
  std::int64_t planes = 1;

  std::int64_t data() const { return bytes * rows * planes; }
};

/// `count` of them, each `distance` behind the one before. No value where that is no such shape any more, where rows
/// would overlap or go back, or nothing is there.
constexpr std::optional<Strided> repeat(Strided one, std::int64_t count, std::int64_t distance) {
  if (count <= 0 || one.bytes <= 0) return std::nullopt;
  if (count == 1) return one;
  if (one.planes > 1) return std::nullopt;
  if (one.rows == 1) {
    if (distance < one.bytes) return std::nullopt;
    if (distance == one.bytes)
      one.bytes *= count;
    else
      one.stride = distance, one.rows = count;
    return one;
  }
  if (distance == one.rows * one.stride) {
    one.rows *= count;
    return one;
  }
  if (distance < (one.rows - 1) * one.stride + one.bytes) return std::nullopt;
  one.plane_stride = distance;
  one.planes = count;
  return one;
}

/// Gathers the first `bytes` bytes of the data, of which there are so many, of memory at `from`.
inline void gather(const Strided& rows, const std::byte* from, std::int64_t bytes, std::byte* to) {
  for (std::int64_t row = 0; bytes > 0; ++row) {
    const std::int64_t some = std::min(bytes, rows.bytes);
    const std::int64_t at = rows.first + row / rows.rows * rows.plane_stride + row % rows.rows * rows.stride;
    std::memcpy(to, from + at, static_cast<std::size_t>(some));
    to += some;
    bytes -= some;
  }
}

}  // namespace sennit::stage
