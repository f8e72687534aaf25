// What the recorder does on the streams of NCCL's calls: it times some (gpu_times.h), and counts replays of graphs
// (graph_replays.h). A call that is neither timed nor captured costs one question to the driver.
#pragma once

#include <atomic>
#include <cstdint>

#include "profile/recorder.h"
#include "shim/recorder/gpu_driver.h"
#include "shim/recorder/gpu_times.h"
#include "shim/recorder/graph_replays.h"

namespace sennit::shim::recorder {

/// Thread-safe.
class GpuSide {
 public:
  /// Of timed calls one in so many looks what has happened in its own context, and one of these four in all: a thread
  /// may drive several GPUs and make none of them its own.
  static constexpr unsigned kLook = 16, kLookAtAll = 64;
  /// Of all calls one in so many tells of replays.
  static constexpr unsigned kTellReplays = 256;

  /// A call, or those of a group on one stream, while it is made.
  struct Call {
    void* stream = nullptr;
    Capture capture;
    GpuTimer::Calls calls;
    GpuTimer::Pair* pair = nullptr;  ///< null: it is not timed
  };

  /// `all`: every call is timed.
  GpuSide(const GpuDriver& driver, bool all) : driver_(driver), timer_(driver, all), replays_(driver) {}

  /// Before the call. `may_time`: if it is its turn.
  Call begin(profile::Recorder& recorder, void* stream, const GpuTimer::Calls& calls, bool may_time);
  /// After it. A call on a communicator that does not block may be put onto the stream later (`is_enqueued` is
  /// false): its end is then unknown.
  void end_timing(const Call& call, GpuTimer::Launch launch, bool is_enqueued);
  /// Counts it, of this class as it turned out, where a graph has it now.
  void note(profile::Recorder& recorder, profile::Recorder::Thread& thread, const Call& call,
            const profile::Class& of, std::uint64_t bytes);
  /// Tells the recorder all that is known, at the process's end.
  void finish(profile::Recorder& recorder);

 private:
  const GpuDriver driver_;
  GpuTimer timer_;
  GraphReplays replays_;
  std::atomic<unsigned> timed_{0}, noted_{0};
};

}  // namespace sennit::shim::recorder
