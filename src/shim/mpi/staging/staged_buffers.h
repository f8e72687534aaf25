// Staging: host memory that stands in for a call's GPU memory, so that an MPI that knows no GPU does the call.
// Correct for every function, type and communicator; what everything faster falls back to.
//
// Where a buffer is, its data tells and not its address: a type may have places far from that. What lies in several
// allocations, some of them perhaps the host's, is brought together piece by piece.
//
// 1. For each buffer that is GPU memory: as much host memory as the call may touch; what it reads is copied there. Of
//    elements with long gaps, such as a column of a matrix, the data alone.
// 2. The real function works on that.
// 3. What it wrote is copied back, once it is done: for a request, when the request is. The data alone, whatever the
//    type and the places of blocks: what lies between may be another request's, or a kernel's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shim/mpi/call/call.h"
#include "shim/mpi/call/runs.h"
#include "shim/mpi/staging/gpus.h"
#include "shim/mpi/staging/pinned_pool.h"
#include "shim/mpi/staging/small_copy_batch.h"

namespace sennit::shim::mpi {

class StagedBuffers {
 public:
  StagedBuffers(Gpus& gpus, PinnedPool& host) : gpus_(gpus), host_(host) {}
  ~StagedBuffers();
  StagedBuffers(const StagedBuffers&) = delete;
  StagedBuffers& operator=(const StagedBuffers&) = delete;

  /// `holder`: says of an address where it is Held. Errors: out_of_memory, those of a copy.
  template <class Holder>
  Status make(const Call& call, const Holder& holder) {
    for (int i = 0; i < call.count; ++i) {
      const Part& part = call.parts[static_cast<std::size_t>(i)];
      memory_.at[static_cast<std::size_t>(i)] = const_cast<void*>(part.address);
      if (!part.used() || call.mpi.is_in_place(part.address)) continue;
      if (auto status = add(call, i, holder); !status) return status;
    }
    return {};
  }

  /// The call's buffers in their order, with staged buffers for those on GPUs.
  const StandIns& memory() const { return memory_; }
  /// A buffer that has no staged buffer lies in the other one, and so in that one's staged buffer.
  void put_inside(const Overlap& overlap) {
    memory_.at[overlap.inner] = static_cast<std::byte*>(memory_.at[overlap.outer]) + overlap.place;
  }
  /// Whether buffer `index` lies in several allocations. Then its staged buffer has its data alone, in the order of
  /// messages, if memory() has another type for it.
  bool scattered(std::size_t index) const { return scattered_[index]; }
  /// Where buffer `index` is held.
  const Held& held(std::size_t index) const { return held_[index]; }
  /// Bytes of all staged buffers.
  std::uint64_t bytes() const;

  /// What staging has to do with gaps between the call's elements, for people, behind other words; empty: there are
  /// none.
  std::string_view how() const;

  /// Copies to the staged buffers what the call reads: once more, for each start of a persistent request.
  Status copy_in();
  /// Copies back what the call has written. `received`: bytes that a message had; negative: as much as was asked for.
  /// `copies`: few bytes are left to it; null: all is copied when this returns. The staged buffers outlive it.
  Status copy_out(std::int64_t received, SmallCopyBatch* copies = nullptr);
  /// Copies to the one staged buffer `bytes` bytes, from `from` bytes behind the first that the call may touch;
  /// `from` below 0: all.
  Status copy_in_part(std::int64_t from, std::int64_t bytes);
  /// Copies back from it these runs, `offset` bytes further.
  Status copy_out_part(std::span<const Runs> part, std::int64_t offset);
  SmallCopyBatch begin_copies() const { return SmallCopyBatch(gpus_); }
  /// Of the staged buffers no byte behind so many was written to, by this start of a persistent request. Without this
  /// word all may have been.
  void mark_written(std::uint64_t bytes) { written_ = std::max(written_.value_or(0), bytes); }

 private:
  struct Piece {
    std::int64_t there, here;  // in bytes from the call's address on, and from the staged buffer's first byte
    std::int64_t bytes;
    int device;  // -1: the host's
  };
  struct StagedBuffer {
    std::byte* there;    // the first byte that the call may touch,
    std::int64_t first;  // so many bytes behind the call's buffer
    device::Memory here;
    std::uint64_t bytes;
    Held held;
    bool read, written, dense;
    bool prefix;                     // a message fills as much of it as it has bytes
    std::optional<path::Rows> rows;  // all that is copied, from `there` on
    std::vector<Runs> runs;          // all that is written, where that are no rows; none: every byte
    std::vector<Piece> pieces{};     // all that is copied, where that is in several allocations
  };
  using Holder = std::function<Held(const void*)>;

  Status add(const Call& call, int index, const Holder& holder);
  Status add(const Call& call, int index, const Held& held);
  Status add_pieces(const Call& call, int index, const Span& span, const Holder& holder);
  /// `most`: bytes of the data, in its order.
  Status copy_pieces(const StagedBuffer& buffer, bool up, std::int64_t most);
  Status down(const StagedBuffer& buffer);
  Status up(const StagedBuffer& buffer, std::int64_t received, SmallCopyBatch* copies);
  Status up(const StagedBuffer& buffer, std::span<const Runs> all, std::int64_t offset);
  Status up(const StagedBuffer& buffer, const Runs& runs, std::int64_t offset);
  /// By way of what is there then: of many runs where a kernel cannot do it.
  Status up_between(const StagedBuffer& buffer, const Runs& runs, std::int64_t offset);

  Gpus& gpus_;
  PinnedPool& host_;
  StandIns memory_;
  std::array<Held, 3> held_{};
  std::array<bool, 3> scattered_{};
  std::vector<StagedBuffer> staged_;
  std::optional<std::uint64_t> written_;
};

}  // namespace sennit::shim::mpi
