// Pieces of one memory to the same places of another, and nothing between them: where they lie says a list, which the
// executor reads as it goes.
//
// 1. Piece i of the list is copied `times` times, `stride` bytes apart: piece p of all is number p / times of the
// list
//    and its time p % times.
// 2. Block b takes pieces b, b + B, b + 2B … . Nothing is signalled: the end of the launch publishes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/block.h"

namespace sennit::path {

struct CopyPieces {
  static constexpr const char* kName = "copy_pieces";
  /// Longer ones are to be cut, since a block copies one alone. A default, as long as a block of its size takes some
  /// microseconds for.
  static constexpr std::int64_t kMost = 64 << 10;

  struct Piece {
    std::int64_t at;
    std::uint64_t bytes;
  };

  std::byte* to;
  const std::byte* from;
  const Piece* pieces;  ///< memory that all executors' devices reach
  std::uint64_t count;  ///< of the list
  std::uint64_t times;
  std::int64_t stride;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    for (std::uint64_t p = block.index(); p < count * times; p += block.count()) {
      const Piece piece = pieces[p / times];
      const std::int64_t at = piece.at + static_cast<std::int64_t>(p % times) * stride;
      block.copy(to + at, from + at, piece.bytes);
    }
  }

  /// A launch that has few threads with nothing to do for pieces of so many bytes, and enough blocks for many short
  /// ones. Defaults.
  static unsigned threads(std::uint64_t bytes_of_a_piece) {
    return bytes_of_a_piece <= 512 ? 32 : bytes_of_a_piece <= 4096 ? 256 : device::kBlockThreads;
  }
  unsigned blocks() const {
    constexpr std::uint64_t kMostBlocks = 1024;
    const std::uint64_t all = count * times;
    return static_cast<unsigned>(all < kMostBlocks ? all : kMostBlocks);
  }
};

}  // namespace sennit::path
