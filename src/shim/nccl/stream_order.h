// Keeps the calls of a communicator in their order, whatever their streams and libraries are, as NCCL does for its
// own.
//
// Nothing is asked of a stream that was used before: the program may have destroyed it. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "coll/collectives.h"
#include "shim/nccl/abi/abi.h"

namespace sennit::shim::nccl {

class StreamOrder {
 public:
  /// `emulated`: the one lane that stands for all streams where GPU memory is emulated; null: a GPU has real ones.
  /// All outlive this object.
  StreamOrder(device::Executor& executor, int device, coll::Collectives& collectives, device::Lane* emulated)
      : executor_(executor), device_(device), collectives_(collectives), emulated_(emulated) {}

  /// Returns the lane of a stream. Errors: those of Executor::adopt.
  Result<device::Lane*> lane(Stream stream);
  /// Returns a side stream: a lane of sennit's own behind these streams, which join_side_stream() makes them wait
  /// for. So calls of several communicators on one stream do not wait for each other. Errors: those of the executor.
  Result<device::Lane*> side_stream(std::span<const Stream> streams);
  /// Makes the streams wait for the latest side stream. Errors: those of the lanes.
  Status join_side_stream(std::span<const Stream> streams);

  /// Puts a call of NCCL's, which comes next on `stream`, behind sennit's calls on other streams. Errors: those of
  /// Executor::adopt and of Collectives::follow; the call would have no order then.
  Status order_nccl_after(Stream stream);
  /// Notes a call of sennit's, which comes next on `stream`. Returns true if the call before it was NCCL's on another
  /// stream: it has to be put behind that one, which NCCL alone can do. Errors: those of Executor::adopt.
  Result<bool> order_ours_after(Stream stream);
  /// Does both for messages of a group of which each library has some: neither library's wait for the other's, and
  /// what follows waits for both. Errors: those of order_nccl_after().
  Result<bool> fork(Stream ours, Stream nccls);

 private:
  /// One that has joined a capture belongs to that until the capture ends.
  struct SideStream {
    std::unique_ptr<device::Lane> lane;
    std::unique_ptr<device::Event> begin, end;
  };
  Result<device::Lane*> lane_locked(Stream stream);
  /// Finds or makes one for what is part of this capture; 0: of no capture.
  Result<SideStream*> side_stream_for(std::uint64_t capture);
  Result<device::Queue> queue_of(Stream stream);
  Status nccl_after_locked(Stream stream);

  device::Executor& executor_;
  const int device_;
  coll::Collectives& collectives_;
  device::Lane* const emulated_;

  std::mutex mutex_;
  std::map<Stream, std::unique_ptr<device::Lane>> lanes_;
  std::vector<std::unique_ptr<SideStream>> side_streams_;
  SideStream* latest_ = nullptr;  // of the side streams
  /// The queue of the latest call, by the library that did it; both where a group had messages of both.
  std::optional<device::Queue> ours_, nccls_;
};

}  // namespace sennit::shim::nccl
