// The profile of this process: one file in the folder that SENNIT_PROFILE names, begun when the program first calls
// MPI or NCCL, and ended with the process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "device/type.h"
#include "profile/recorder.h"
#include "stage/pointer_cache.h"

namespace sennit::shim::recorder {

/// Begins the profile, or finds it begun by the other library's observer. Null, and a line to the user, where there
/// is no folder or no file can be made: the program then runs as it would have. After fork() it is null in the child
/// for good, whose calls are not this process's.
profile::Recorder* begin_profile();

/// What the process has, where each call looks.
struct ProcessProfile {
  std::atomic<profile::Recorder*> current{nullptr};
  std::atomic<bool> first_in_call{false};  ///< the thread that called first, which needs no locked instruction so
  std::atomic<int> others_in_calls{0};
  std::atomic<std::uint8_t> phase{0};               ///< that calls belong to
  std::atomic<bool> paused{false};                  ///< no call is recorded now
  std::atomic<const void*> observed_nccl{nullptr};  ///< where the NCCL lies whose calls are observed
  std::atomic<bool> nccl_tells{false};              ///< of its choices, see nccl_choices.h
  std::atomic<bool> kernels_refused{false};
  std::atomic<bool> collects_kernels{false};  ///< or is to, see kernel_window.h
};
extern constinit ProcessProfile the_process;

/// The profile, once it has begun and unless this is a child of fork(); one load.
inline profile::Recorder* current_profile() {
  return the_process.current.load(std::memory_order_acquire);
}

/// Returns what SENNIT_PROFILE_GPU_TIMES says; sampled, where kernels were wanted and cannot be had.
profile::GpuTimes wanted_gpu_times();

/// A drop-in says how the calling thread's running call is done.
void tell_how(std::string_view how);

/// Calls that begin from now on belong to this phase; an empty name: to none.
void begin_phase(std::string_view name);

/// Calls that begin from now on are passed on alone, or recorded again. False where nothing is.
bool pause_recording(bool paused);
inline bool is_paused() {
  return the_process.paused.load(std::memory_order_relaxed);
}

class CallMemos;
class CallGroup;
class MemoryKinds;
class NcclChoices;

/// What a thread has of its own. There is no destructor: threads make calls while they end.
struct OwnThread {
  profile::Recorder::Thread* written = nullptr;  ///< null: it has not recorded
  CallMemos* memos = nullptr;                    ///< of MPI's calls
  CallGroup* group = nullptr;                    ///< of NCCL's
  MemoryKinds* kinds = nullptr;                  ///< of their buffers
  NcclChoices* choices = nullptr;                ///< for them
  int depth = 0;                                 ///< calls within calls
  unsigned calls = 0;                            ///< of MPI, for what is done once in so many
  std::uint8_t how = 0;                          ///< who does the running call, in the profile's numbers; 0: not said
  bool hows_differ = false;                      ///< of several calls that a drop-in has spoken of in this one
  bool is_sennits = false;                       ///< a drop-in does some of it, and not the library alone
};
extern thread_local constinit OwnThread own_thread;

/// The thread's, made when it is first asked for; they go with it.
CallMemos& memos_of(OwnThread& own);
CallGroup& group_of(OwnThread& own);
MemoryKinds& kinds_of(OwnThread& own);
NcclChoices& choices_of(OwnThread& own);

/// What kind of memory an address lies in; `absent` for null. Costs some ns for what is on the heap or a stack, else
/// a call of the driver.
profile::Memory memory_of(const void* address);

/// The profile's number of an operator; of none, that of operators which the program has made.
std::uint8_t reduction_of(std::optional<device::Operator> op);

/// Counts the calling thread among those in calls, as long as it lives. A call within a call (an MPI that calls MPI,
/// a wrapper that calls another function) is not one of the program's: `outermost` is then false.
class InCall {
 public:
  explicit InCall(profile::Recorder* recorder)
      : own_(own_thread), outermost_(own_.depth++ == 0 && recorder != nullptr) {
    if (!outermost_) return;
    own_.how = 0;
    own_.is_sennits = own_.hows_differ = false;
    if (own_.written == nullptr) own_.written = &recorder->thread();
    int others = 0;
    if (own_.written->number() == 0) {
      the_process.first_in_call.store(true, std::memory_order_relaxed);
      others = the_process.others_in_calls.load(std::memory_order_relaxed);
    } else {
      others = the_process.others_in_calls.fetch_add(1, std::memory_order_relaxed) +
               (the_process.first_in_call.load(std::memory_order_relaxed) ? 1 : 0);
    }
    others_ = static_cast<std::uint8_t>(std::clamp(others, 0, 255));
  }
  ~InCall() {
    --own_.depth;
    if (!outermost_) return;
    if (own_.written->number() == 0)
      the_process.first_in_call.store(false, std::memory_order_relaxed);
    else
      the_process.others_in_calls.fetch_sub(1, std::memory_order_relaxed);
  }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

  /// Whether the call is to be recorded.
  bool outermost() const { return outermost_; }
  OwnThread& own() const { return own_; }
  profile::Recorder::Thread& thread() const { return *own_.written; }
  std::uint8_t others() const { return others_; }  ///< threads that were in calls when this one began; 255 at most

 private:
  OwnThread& own_;
  const bool outermost_;
  std::uint8_t others_ = 0;
};

}  // namespace sennit::shim::recorder
