// Copies between GPU memory of this process and host memory; each copy is done when its call returns. Staging needs
// this.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "device/executor.h"
#include "stage/pointer_cache.h"
#include "stage/segment_copy.h"
#include "stage/small_copies.h"
#include "stage/strided.h"

namespace sennit::stage {

class Gpus {
 public:
  /// `linger`: how long a GPU's block waits for the next small copy; 0: there is none.
  explicit Gpus(std::shared_ptr<device::Executor> executor, std::chrono::microseconds linger = {});

  device::Executor& executor() { return *executor_; }
  const std::shared_ptr<device::Executor>& shared_executor() { return executor_; }

  /// Copies and waits. `held`: of the memory of a GPU, which does it. Thread-safe. Errors: those of the executor.
  Status to_host(void* host, const void* gpu, std::uint64_t bytes, const MemInfo& held);
  Status to_gpu(void* gpu, const void* host, std::uint64_t bytes, const MemInfo& held);
  /// Copies several pieces from memory of one GPU.
  Status to_host(std::span<const SmallCopies::Piece> pieces, int device);
  /// Copies several pieces of host memory to that of one GPU, of few bytes each: in little more than the time of one.
  Status to_gpu(std::span<const SmallCopies::Piece> pieces, const MemInfo& held);
  /// Few bytes to memory of a GPU from where from() says, at once; false: not done (SmallCopies::between).
  template <class From>
  Result<bool> between(void* gpu, std::uint64_t bytes, int device, const From& from) {
    return small_of(device).between(gpu, bytes, from);
  }
  /// Rows alone, either way, of memory from these addresses on; the host's is pinned. `most`: bytes of data.
  Status copy_strided(std::byte* dst, const std::byte* src, const Strided& rows, std::uint64_t most, int device);
  /// Segments alone, either way, of `bytes` bytes in all; the host's memory and the list are pinned.
  Status copy_segments(const SegmentCopy& copy, std::uint64_t bytes, int device);
  /// Either way or within GPUs; `device`: one that holds memory of the two.
  Status copy(void* dst, const void* src, std::uint64_t bytes, int device);
  /// Calls work(lane) of a lane of `device` that nothing else uses, and waits for what it has enqueued.
  template <class Work>
  Status on_lane(int device, const Work& work) {
    auto lane = take(device);
    if (!lane) return lane.status();
    if (auto status = work(**lane); !status) return status;
    if (auto status = (*lane)->synchronize(); !status) return status;
    give(device, std::move(*lane));
    return {};
  }
  /// Checks memory, before it is used, whose call has returned with a request: the program may have freed it, and a
  /// copy would take the address for one of the host's. Errors: invalid_argument, where it is no memory of that GPU
  /// any more.
  Status still_held(const void* gpu, int device) const;
  /// Returns whether so many bytes of GPU memory, from `gpu` on, lie in one allocation, or in several side by side
  /// that are mapped as one.
  bool in_one(const void* gpu, std::uint64_t bytes) const;
  /// Copies where the memory's device has to be found out.
  Status copy(void* dst, const void* src, std::uint64_t bytes);

 private:
  SmallCopies& small_of(int device);
  Result<std::unique_ptr<device::Lane>> take(int device);
  void give(int device, std::unique_ptr<device::Lane> lane);

  const std::shared_ptr<device::Executor> executor_;
  const std::chrono::microseconds linger_;
  const unsigned most_blocks_;  // of a launch whose blocks need not wait for each other
  std::mutex mutex_;
  std::map<int, std::vector<std::unique_ptr<device::Lane>>> idle_;  // by device
  std::map<int, std::unique_ptr<SmallCopies>> small_;               // by device
};

}  // namespace sennit::stage
