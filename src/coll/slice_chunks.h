// Takes a block through its part of a message, or of every rank's slice of one, chunk by chunk.
#pragma once

#include "device/part.h"

namespace sennit::coll {

/// Says how a message is cut among ranks and blocks. The host computes it, since a GPU takes long to divide.
struct Partition {
  std::uint64_t slice = 0;  ///< of each rank but the last ones; all of a message that is not sliced
  std::uint64_t each = 0;   ///< of a slice, of each block but the last ones
  std::uint64_t apart = 0;  ///< from the begin of a slice to that of the next; 0: every rank has the same one

  SENNIT_DEVICE static Partition of(std::uint64_t bytes, unsigned slices, unsigned blocks) {
    const std::uint64_t slice = device::part_of(bytes, 0, slices).end;
    return {slice, device::part_of(slice, 0, blocks).end, slice};
  }
};

struct SliceChunks {
  std::uint64_t bytes;  ///< of the message
  std::uint64_t apart;
  device::Part part;  ///< of this block, in a whole slice
  std::uint64_t chunk;

  SENNIT_DEVICE SliceChunks(std::uint64_t message, const Partition& partition, unsigned block, std::uint64_t most)
      : bytes(message),
        apart(partition.apart),
        part(device::part_at(partition.slice, partition.each, block)),
        // All chunks are equal: the last is not short.
        chunk(part.bytes() <= most ? most : device::part_of(part.bytes(), 0, chunks_of(part.bytes(), most)).end) {}

  /// Cut into an even number of equal chunks, for in_turns(); a short part stays one.
  SENNIT_DEVICE SliceChunks in_pairs() const {
    constexpr std::uint64_t kShort = 24 * 1024;  // a default
    if (part.bytes() <= kShort && part.bytes() <= chunk) return *this;
    SliceChunks chunks = *this;
    const unsigned pairs = chunks_of(part.bytes(), 2 * chunk);
    chunks.chunk = device::part_of(part.bytes(), 0, 2 * pairs).end;
    return chunks;
  }

  SENNIT_DEVICE static unsigned chunks_of(std::uint64_t bytes, std::uint64_t most) {
    return static_cast<unsigned>((bytes + most - 1) / most);
  }
  /// Counts the chunks of a whole slice: equal for every slice, so that ranks agree where the last slices are short.
  SENNIT_DEVICE unsigned count() const { return chunks_of(part.bytes(), chunk); }
  /// Returns the range of chunk `index` of slice `of` in the message; it may be empty, and is beyond the last.
  SENNIT_DEVICE device::Part of(int of, unsigned index) const {
    const std::uint64_t end = apart * static_cast<unsigned>(of) + part.end;
    std::uint64_t first = apart * static_cast<unsigned>(of) + part.begin + index * chunk;
    if (first > end) first = end;
    const std::uint64_t last = first + chunk < end ? first + chunk : end;
    return {first < bytes ? first : bytes, last < bytes ? last : bytes};
  }
};

}  // namespace sennit::coll
