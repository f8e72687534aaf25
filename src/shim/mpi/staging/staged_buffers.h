// Stages a call: host memory stands in for its GPU memory, so that an MPI that knows no GPU does the call. Staging is
// correct for every function, type and communicator; everything faster falls back to it.
//
// Its data tells where a buffer is, and not its address: a type may have places far from that. A buffer that lies in
// several allocations, some of them perhaps the host's, is brought together piece by piece.
//
// 1. Each buffer that is GPU memory gets as much host memory as the call may touch; what the call reads is copied
//    there. Of elements with long gaps, such as a column of a matrix, only the data is copied.
// 2. The real function works on that.
// 3. What it wrote is copied back, once it is done: for a request, when the request is. Only the data is copied,
//    whatever the type and the places of blocks: what lies between may be another request's, or a kernel's.
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

  /// Returns the call's buffers in their order, with staged buffers for those on GPUs.
  const StandIns& memory() const { return memory_; }
  /// A buffer that has no staged buffer lies in the other one, and so in that one's staged buffer.
  void put_inside(const Overlap& overlap) {
    memory_.at[overlap.inner] = static_cast<std::byte*>(memory_.at[overlap.outer]) + overlap.place;
  }
  /// Returns whether buffer `index` lies in several allocations. Then its staged buffer has its data alone, in the
  /// order of messages, if memory() has another type for it.
  bool scattered(std::size_t index) const { return scattered_[index]; }
  /// Returns the device that holds buffer `index`, and how CUDA treats its memory.
  const stage::MemInfo& held(std::size_t index) const { return held_[index]; }
  /// Returns the bytes of all staged buffers.
  std::uint64_t bytes() const;

  /// Describes, for people and behind other words, what staging does about gaps between the call's elements; empty:
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
  /// Notes that this start of a persistent request wrote nothing behind so many bytes of the staged buffers. Without
  /// this, all of them may have been written.
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
