// Calls of NCCL between ncclGroupStart and the ncclGroupEnd that begins them all.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/recorder/gpu_side.h"
#include "shim/recorder/kernel_times.h"

namespace sennit::shim::recorder {

/// A thread's group, which may be within another one.
class CallGroup {
 public:
  /// What the group does on one stream.
  struct OnStream {
    void* stream = nullptr;
    GpuTimer::Calls calls;
    bool is_mixed = false;  ///< of several classes: its time is none of theirs
    GpuSide::Call begun;
  };

  /// A window of NCCL, whose handle is written at the group's end.
  struct Window {
    const std::uint64_t* handle = nullptr;
    std::uint64_t bytes = 0;
  };

  bool is_open() const { return depth_ > 0; }
  /// Whether the next end is that of the outermost one.
  bool ends() const { return depth_ == 1; }
  void start() { ++depth_; }
  void end() {
    if (depth_ == 0 || --depth_ != 0) return;
    streams_.clear();
    windows_.clear();
  }
  /// `is_recorded`: not in a pause.
  void add(void* stream, const profile::Class& of, bool is_recorded = true) {
    for (OnStream& one : streams_) {
      if (one.stream != stream) continue;
      one.is_mixed = one.is_mixed || !is_recorded || one.calls.of.key() != of.key();
      ++one.calls.calls;
      return;
    }
    streams_.push_back({stream, {of, 1}, !is_recorded, {}});
  }
  void add(const Window& window) { windows_.push_back(window); }
  std::vector<OnStream>& streams() { return streams_; }
  const std::vector<Window>& windows() const { return windows_; }
  /// Returns the calls of all streams together; `mixed`: whose they are where they are of several classes.
  KernelTimes::Calls all(const profile::Class& mixed) const {
    KernelTimes::Calls all{streams_.front().calls.of, 0};
    for (const OnStream& one : streams_) {
      if (one.is_mixed || one.calls.of.key() != all.of.key()) return {mixed, 1};
      all.calls += one.calls.calls;
    }
    return all;
  }

 private:
  int depth_ = 0;
  std::vector<OnStream> streams_;
  std::vector<Window> windows_;
};

}  // namespace sennit::shim::recorder
