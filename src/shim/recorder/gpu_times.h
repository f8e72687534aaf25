// How long NCCL's calls take on the GPU: pairs of events on the calls' own streams, which are read when they have
// happened. Nothing ever waits for a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/recorder.h"

namespace sennit::shim::recorder {

/// Functions of the CUDA driver, whose ABI is frozen. They return 0, or an error's number.
struct GpuDriver {
  int (*current)(void** context) = nullptr;
  int (*context_of)(void* stream, void** context) = nullptr;
  int (*push)(void* context) = nullptr;
  int (*pop)(void** context) = nullptr;
  int (*create)(void** event, unsigned flags) = nullptr;
  int (*record)(void* event, void* stream) = nullptr;
  int (*query)(void* event) = nullptr;
  int (*elapsed)(float* milliseconds, void* begin, void* end) = nullptr;
  int (*capturing)(void* stream, int* status) = nullptr;
  int (*exchange_mode)(int* mode) = nullptr;
  int (*context_id)(void* context, unsigned long long* id) = nullptr;  ///< null where the driver is too old

  /// That of this process, if the program has loaded it.
  static std::optional<GpuDriver> of_process();
};

class GpuTimer {
 public:
  /// Calls of one class that an event pair is around.
  struct Calls {
    profile::Class of;
    std::uint64_t calls = 1;
    std::uint64_t each = 1;  ///< times that they count, for those whose turn it was not
  };
  /// Of each class this many calls are timed first, then one in kOneIn: defaults, by which the mean stays below
  /// 0.3 µs where a timed call takes 2.5 µs.
  static constexpr std::uint64_t kFirst = 64, kOneIn = 16;
  /// Pairs for each context: a default. Calls that find none are not timed.
  static constexpr std::size_t kPairs = 256;

  /// `all`: every call is timed.
  GpuTimer(const GpuDriver& driver, bool all) : driver_(driver), all_(all) {}

  /// Returns 0 if it is not the turn of this class, else how many calls this one stands for.
  std::uint64_t is_due(const profile::Class& of);

  struct Context;
  struct Pair {
    void *begin = nullptr, *end = nullptr;
    Context* of = nullptr;
    Calls calls;
  };
  /// Events belong to a context, and are recorded on its streams alone.
  struct Context {
    void* handle = nullptr;
    unsigned long long id = 0;  ///< which no other context ever has, other than the handle
    std::deque<Pair> all;
    std::vector<Pair*> free;
    std::deque<Pair*> pending;  ///< in the order of their ends
  };

  /// Before the call. Null where it cannot be timed: its stream is being captured into a graph, or too many calls are
  /// under way.
  Pair* begin(void* stream);
  /// After it.
  void end(Pair& pair, void* stream, const Calls& calls);
  /// Instead, where the call has not put its work onto the stream.
  void drop(Pair& pair);

  /// Tells the recorder of those that have happened, of the thread's own context, or at the process's end of all.
  void collect(profile::Recorder& recorder, bool of_all = false);

 private:
  unsigned long long id_of(void* context) const;
  Context& context_of(void* context, unsigned long long id);
  void collect(profile::Recorder& recorder, Context& context);

  const GpuDriver driver_;
  const bool all_;
  /// Of all below. The driver is not called under it: a call may wait there until other ranks have come, which may be
  /// threads of this process that wait for the mutex.
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;  ///< calls, by class
  std::deque<Context> contexts_;
};

}  // namespace sennit::shim::recorder
