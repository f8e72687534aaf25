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
#include "stage/staged_buffer.h"

namespace sennit::shim::mpi {

class StagedBuffers {
 public:
  StagedBuffers(stage::Gpus& gpus, stage::PinnedPool& host) : gpus_(gpus), host_(host) {}
  ~StagedBuffers();
  StagedBuffers(const StagedBuffers&) = delete;
  StagedBuffers& operator=(const StagedBuffers&) = delete;

  /// `holder`: returns of an address its stage::MemInfo. Errors: out_of_memory, those of a copy.
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
  /// Returns whether buffer `index` lies in several allocations. Then its staged buffer has its data alone, in the
  /// order of messages, if memory() has another type for it.
  bool scattered(std::size_t index) const { return scattered_[index]; }
  /// Returns where buffer `index` is held.
  const stage::MemInfo& held(std::size_t index) const { return held_[index]; }
  /// Bytes of all staged buffers.
  std::uint64_t bytes() const;

  /// Returns what staging has to do with gaps between the call's elements, for people, behind other words; empty:
  /// there are none.
  std::string_view how() const;

  /// Copies to the staged buffers what the call reads: once more, for each start of a persistent request.
  Status copy_in();
  /// Copies back what the call has written. `received`: bytes that a message had; negative: as much as was asked for.
  /// `copies`: few bytes are left to it; null: all is copied when this returns. The staged buffers outlive it.
  Status copy_out(std::int64_t received, stage::SmallCopyBatch* copies = nullptr);
  /// Copies to the one staged buffer `bytes` bytes, from `from` bytes behind the first that the call may touch;
  /// `from` below 0: all.
  Status copy_in_part(std::int64_t from, std::int64_t bytes);
  /// Copies back from it these segments, `offset` bytes further.
  Status copy_out_part(std::span<const stage::Segments> part, std::int64_t offset);
  stage::SmallCopyBatch begin_copies() const { return stage::SmallCopyBatch(gpus_); }
  /// Of the staged buffers no byte behind so many was written to, by this start of a persistent request. Without this
  /// word all may have been.
  void mark_written(std::uint64_t bytes) { written_ = std::max(written_.value_or(0), bytes); }

 private:
  using Holder = std::function<stage::MemInfo(const void*)>;

  Status add(const Call& call, int index, const Holder& holder);
  Status add(const Call& call, int index, const stage::MemInfo& held);
  Status add_pieces(const Call& call, int index, const Span& span, const Holder& holder);

  stage::Gpus& gpus_;
  stage::PinnedPool& host_;
  StandIns memory_;
  std::array<stage::MemInfo, 3> held_{};
  std::array<bool, 3> scattered_{};
  std::vector<stage::StagedBuffer> staged_;
  std::optional<std::uint64_t> written_;
};

}  // namespace sennit::shim::mpi
