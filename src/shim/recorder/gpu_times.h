// How long NCCL's calls take on the GPU: pairs of events on the calls' own streams, which are read when they have
// happened. Nothing ever waits for a GPU.
//
// On an idle stream the first event happens at once, and the kernel begins when the call has enqueued it, 10 to 20 µs
// later. So the host's time from the one to the other is taken off again, where the kernel is the last that the call
// enqueues. A stream that was busy at first and ran empty meanwhile tells nothing: such a pair is not used.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "profile/recorder.h"
#include "shim/recorder/gpu_driver.h"

namespace sennit::shim::recorder {

class GpuTimer {
 public:
  /// Calls of one class that an event pair is around.
  struct Calls {
    profile::Class of;
    std::uint64_t calls = 1;
    std::uint64_t each = 1;  ///< times that they count, for those whose turn it was not
  };
  /// Of each class this many calls are timed first, then one in kOneIn: defaults. A timed call costs 7 to 11 µs
  /// of the host's time and 5 to 7 µs of the stream's (two H200, results/), so the mean stays near 0.15 µs.
  static constexpr std::uint64_t kFirst = 64, kOneIn = 64;
  /// Pairs for each context: a default. Calls that find none are not timed.
  static constexpr std::size_t kPairs = 256;
  /// Classes that have turns: a limit. Calls of others are not timed.
  static constexpr std::size_t kClasses = 4096;

  /// A call gives the GPU its work last of all, as NCCL does, or bit by bit.
  enum class Launch : std::uint8_t { last, meanwhile };

  /// `all`: every call is timed. `now_ns`: the host's clock.
  GpuTimer(const GpuDriver& driver, bool all, std::uint64_t (*now_ns)() = &profile::now_ns)
      : driver_(driver), all_(all), now_ns_(now_ns) {}

  /// Returns 0 if it is not the turn of this class, else how many calls this one stands for. It takes no lock.
  std::uint64_t is_due(const profile::Class& of);

  struct Context;
  struct Pair {
    void *begin = nullptr, *end = nullptr;
    Context* of = nullptr;
    Calls calls;
    bool was_idle = false;        ///< the stream, at the begin
    bool is_unsure = false;       ///< what lies between the events is not the call alone
    std::uint64_t began_ns = 0;   ///< the host's time when the first event was recorded
    std::uint64_t before_ns = 0;  ///< of the GPU's time: until it had its work
  };
  /// Events belong to a context, and are recorded on its streams alone.
  struct Context {
    void* handle = nullptr;
    unsigned long long id = 0;  ///< which no other context ever has, other than the handle
    std::deque<Pair> all;
    std::vector<Pair*> free;
    std::deque<Pair*> pending;  ///< in the order of their ends
  };

  /// Before the call, whose stream is not being captured into a graph. Null where it cannot be timed: too many calls
  /// are under way.
  Pair* begin(void* stream);
  /// After it.
  void end(Pair& pair, void* stream, const Calls& calls, Launch launch = Launch::meanwhile);
  /// Instead, where the call has not put its work onto the stream.
  void drop(Pair& pair);

  /// Tells the recorder of those that have happened, of the thread's own context, or at the process's end of all.
  void collect(profile::Recorder& recorder, bool of_all = false);

 private:
  Context& context_of(void* context, unsigned long long id);
  void collect(profile::Recorder& recorder, Context& context);

  const GpuDriver driver_;
  const bool all_;
  std::uint64_t (*const now_ns_)();
  struct Turns {
    std::atomic<std::uint64_t> key{0}, calls{0};  ///< of a class; 0: free
  };
  std::array<Turns, kClasses> turns_{};  ///< an open table
  /// Of all below. The driver is not called under it: a call may wait there until other ranks have come, which may be
  /// threads of this process that wait for the mutex.
  std::mutex mutex_;
  std::deque<Context> contexts_;
};

}  // namespace sennit::shim::recorder
