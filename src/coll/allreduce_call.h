// What every allreduce program is told.
#pragma once

#include "coll/team.h"
#include "device/part.h"
#include "device/reduction.h"

namespace sennit::coll {

struct AllreduceCall {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  ///< may be `input`; otherwise they do not overlap
  std::uint64_t bytes = 0;
  device::Reduction reduction;
};

/// Every source that is a rank's own input.
SENNIT_DEVICE device::Stage whole(int ranks) {
  return {(1u << ranks) - 1, true};
}

/// How a block works through its part of every rank's slice of the message, chunk by chunk.
struct SliceChunks {
  std::uint64_t bytes;  ///< of the message
  std::uint64_t slice;  ///< of each rank but the last ones
  device::Part part;    ///< of this block, in a whole slice
  std::uint64_t chunk;

  SENNIT_DEVICE SliceChunks(std::uint64_t message, int ranks, unsigned block, unsigned blocks, std::uint64_t most)
      : bytes(message),
        slice(device::part_of(message, 0, static_cast<unsigned>(ranks)).end),
        part(device::part_of(slice, block, blocks)),
        chunk(most) {}

  /// The same for every slice, so that ranks agree where the last slices are short.
  SENNIT_DEVICE unsigned count() const { return static_cast<unsigned>((part.bytes() + chunk - 1) / chunk); }
  /// Where chunk `index` of the rank's slice lies in the message; may be empty.
  SENNIT_DEVICE device::Part of(int rank, unsigned index) const {
    const std::uint64_t first = slice * static_cast<unsigned>(rank) + part.begin + index * chunk;
    std::uint64_t last = slice * static_cast<unsigned>(rank) + part.end;
    if (first + chunk < last) last = first + chunk;
    return {first < bytes ? first : bytes, last < bytes ? last : bytes};
  }
};

}  // namespace sennit::coll
