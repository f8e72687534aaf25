// Kernels are collected in this process (kernel_times.h) from the first call that may run some, for as long as
// SENNIT_PROFILE_KERNELS says.
#pragma once

#include "shim/recorder/kernel_times.h"
#include "shim/recorder/process_profile.h"

namespace sennit::shim::recorder {

/// Null where kernels are not collected now: they are not wanted, no CUDA is loaded yet, the time is over, or CUPTI
/// refuses, which the user is told.
KernelTimes* kernels_now(profile::Recorder& recorder);

/// Kernels that begin from now on do not count, or they do again.
void pause_kernels(profile::Recorder& recorder, bool paused);

/// As long as this lives, all that the thread enqueues is the call's.
class KernelsOfCall {
 public:
  KernelsOfCall(profile::Recorder& recorder, bool may_run)
      : times_(may_run && the_process.collects_kernels.load(std::memory_order_relaxed) ? kernels_now(recorder)
                                                                                       : nullptr),
        number_(times_ != nullptr ? times_->begin_call() : 0) {}
  KernelsOfCall(const KernelsOfCall&) = delete;
  KernelsOfCall& operator=(const KernelsOfCall&) = delete;
  /// To be called once, after the call.
  void end(const KernelTimes::Calls& calls) const {
    if (times_ != nullptr) times_->end_call(number_, calls);
  }
  bool collects() const { return times_ != nullptr; }

 private:
  KernelTimes* const times_;
  const std::uint64_t number_;
};

}  // namespace sennit::shim::recorder
