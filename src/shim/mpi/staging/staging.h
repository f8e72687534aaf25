// Has the MPI do calls of GPU memory with host memory in its place (staged_buffers.h), and makes copies of this
// process.
//
// State: the GPUs and the pinned memory of this process, made at first use and kept to its end; files whose
// collective operation has begun (split_files.h); the buffer of buffered sends. Lock: mutex_, of what is made at
// first use. No other lock of the drop-in is taken under it, and the MPI is not called under it. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "shim/mpi/call/reporting.h"
#include "shim/mpi/staging/attached_buffer.h"
#include "shim/mpi/staging/split_files.h"
#include "shim/mpi/staging/staged_buffers.h"
#include "stage/gpus.h"
#include "stage/pinned_pool.h"
#include "stage/pointer_cache.h"

namespace sennit::shim::mpi {

class Staging {
 public:
  /// `linger`: how long a GPU's block waits for the next small copy (stage::Gpus).
  Staging(const Mpi& mpi, stage::PointerCache& memories, Reporting& reporting, std::chrono::microseconds linger)
      : mpi_(mpi), memories_(memories), reporting_(reporting), linger_(linger) {}

  /// Returns this process's GPUs; null: no GPU answers, and no_gpus() says why.
  stage::Gpus* gpus();
  const Status& no_gpus() const { return no_gpus_; }
  /// GPUs and pinned memory that gpus() has made; null before.
  stage::Gpus* made_gpus() const { return gpus_.get(); }
  stage::PinnedPool* host() const { return host_.get(); }

  /// Returns the device that all the call's memory is on; -1 for host memory or several devices, no value where
  /// nothing is used.
  std::optional<int> device_of(const Call& call) const;

  /// Puts host memory in the place of what of the call is on GPUs. Errors: those of StagedBuffers::make, and no GPU
  /// that answers.
  Result<std::shared_ptr<StagedBuffers>> stage(const Call& call) { return stage(call, true); }
  /// Stages a call likewise that is made outside the program's own call of it.
  Result<std::shared_ptr<StagedBuffers>> stage_later(const Call& call) { return stage(call, false); }
  /// Does a blocking call with host memory, to its end; `why` it is staged. Returns what the program is told.
  int perform(const Call& call, const RealCall& real, std::string_view why);

  /// A copy in host memory of the call's first buffer, wherever that is: elements lie as they do there.
  struct Copy {
    void* address = nullptr;
    std::shared_ptr<void> kept;
    Handle type = kNoHandle;  ///< of its elements, where that is another one
  };
  /// Errors: as stage().
  Result<Copy> copy(const Call& call);

  /// Counts and explains a call that is staged. `time`: as of Reporting::count().
  template <class Time>
  void count(const Call& call, std::uint64_t bytes, const StagedBuffers& staged, std::string_view why, Time time) {
    if (!reporting_.tells()) return;
    const std::string how = "staged: " + std::string(why);
    reporting_.count(call, bytes, how, time);
    reporting_.explain_way(call.function(), bytes, how, staged.how());
  }
  template <class Time>
  void count(const Call& call, const StagedBuffers& staged, std::string_view why, Time time) {
    if (reporting_.tells()) count(call, message_size(call), staged, why, time);
  }

  SplitFiles& split_files() { return split_files_; }
  AttachedBuffer& attached_buffer() { return attached_buffer_; }

 private:
  /// `again`: in the program's own call, which has asked where its memory is.
  Result<std::shared_ptr<StagedBuffers>> stage(const Call& call, bool again);

  const Mpi& mpi_;
  stage::PointerCache& memories_;
  Reporting& reporting_;
  const std::chrono::microseconds linger_;
  std::mutex mutex_;
  std::unique_ptr<stage::Gpus> gpus_;
  std::unique_ptr<stage::PinnedPool> host_;
  Status no_gpus_;
  SplitFiles split_files_;
  AttachedBuffer attached_buffer_;
};

}  // namespace sennit::shim::mpi
