// Holds host memory that stands in for GPU memory, and what is copied from there and back: all of it, strided data, a
// list of segments, or pieces of several allocations.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stage/gpus.h"
#include "stage/pinned_pool.h"
#include "stage/segments.h"
#include "stage/small_copy_batch.h"
#include "stage/strided.h"

namespace sennit::stage {

struct StagedBuffer {
  struct Piece {
    std::int64_t there, here;  ///< in bytes from StagedBuffer::there on, and from the first byte of the host memory
    std::int64_t bytes;
    int device;  ///< -1: the host's
  };

  std::byte* there;    ///< the first byte that may be touched,
  std::int64_t first;  ///< so many bytes behind where the segments count from
  device::Memory here;
  std::uint64_t bytes;
  MemInfo held;                    ///< of the GPU memory
  bool read, written;              ///< copied from there; copied back
  bool dense;                      ///< every byte is data
  bool prefix;                     ///< a message fills as much of it as it has bytes
  std::optional<Strided> rows;     ///< all that is copied, from `there` on
  std::vector<Segments> segments;  ///< all that is written, where that is not strided; none: every byte
  std::vector<Piece> pieces{};     ///< all that is copied, where that is in several allocations

  /// Copies to the host memory. Errors: those of a copy.
  Status copy_in(Gpus& gpus) const;
  /// Copies `bytes` bytes, from `from` bytes behind `there` on.
  Status copy_in(Gpus& gpus, std::uint64_t from, std::uint64_t bytes) const;
  /// Copies back. `received`: bytes that a message had; negative: all. `batch`: few bytes are left to it; null: all
  /// is copied when this returns. Errors: those of a copy, invalid_argument where the GPU memory was freed.
  Status copy_out(Gpus& gpus, PinnedPool& host, std::int64_t received, SmallCopyBatch* batch) const;
  /// Copies back these segments alone, `offset` bytes further.
  Status copy_out(Gpus& gpus, PinnedPool& host, std::span<const Segments> part, std::int64_t offset) const;

 private:
  /// `most`: bytes of the data, in its order.
  Status copy_pieces(Gpus& gpus, bool out, std::int64_t most) const;
  Status copy_out(Gpus& gpus, PinnedPool& host, const Segments& part, std::int64_t offset) const;
  /// Copies by way of the bytes that are between the segments then: for many segments where a kernel cannot do it.
  Status copy_out_between(Gpus& gpus, PinnedPool& host, const Segments& part, std::int64_t offset) const;
};

}  // namespace sennit::stage
