// CUPTI tells how long the kernels and copies of calls took on GPUs, and how much of that time other kernels ran
// beside them. Kernels belong to a call by its number, which CUPTI keeps with all that the calling thread enqueues in
// the call; never by their names.
//
// Records come late, in buffers of several threads and in no order: each waits until the calls before it are known.
//
// A kernel of a CUDA graph has the number of its node, and that of the launch. CUPTI tells of each node when it is
// made, on the thread that makes it, and of its copies when the graph is copied or made ready to run: so a node is of
// the call that was captured there, and each launch of the graph is that call once more. Nodes that were made before
// the collection are of nobody.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "profile/overlap.h"
#include "profile/recorder.h"
#include "shim/recorder/cupti.h"

namespace sennit::shim::recorder {

/// One in a process at a time: CUPTI tells its callbacks nothing of whose they are. Thread-safe.
class KernelTimes {
 public:
  /// Calls of one class, made as one.
  struct Calls {
    profile::Class of;
    std::uint64_t calls = 1;
  };

  /// Begins to collect. Errors: unsupported (another profiler uses CUPTI), permission_denied, device_error.
  static Result<std::unique_ptr<KernelTimes>> begin(const Cupti& cupti);
  ~KernelTimes();
  KernelTimes(const KernelTimes&) = delete;
  KernelTimes& operator=(const KernelTimes&) = delete;

  /// Begins a call: all that the calling thread enqueues until its end is the call's. Calls may lie within calls.
  std::uint64_t begin_call();
  void end_call(std::uint64_t number, const Calls& calls);

  /// Tells the recorder what is known for certain: what came before the last time that it was asked to. To be called
  /// by threads of the program, every second or so.
  void settle(profile::Recorder& recorder);
  /// Kernels that begin from now on do not count, or they do again.
  void pause(bool paused);
  /// Ends the collection: kernels that begin from now on do not count.
  void close();
  /// Tells the rest, and lets CUPTI go. What has not ended by then is lost, and counted so.
  void finish(profile::Recorder& recorder);

 private:
  /// A kernel or a copy that ran on a GPU, with CUPTI's number of the driver's call that launched it.
  struct Ran {
    std::uint32_t correlation, device;
    std::uint64_t begin, end;
    bool is_of_graph = false;
    std::uint64_t captured = 0;  ///< the call whose node it is; 0: the program's own
  };
  using Intervals = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  struct Number {
    std::uint64_t call;
    std::uint64_t generation;
  };
  struct Call {
    Calls calls;
    bool ended = false;  ///< what it is of is known
    bool is_captured = false;
    std::uint64_t generation = 0;
    Intervals ran;
  };

  /// A call that a launch of its graph has done once more.
  struct Replay {
    std::uint64_t generation = 0;
    Intervals ran;
  };

  /// Calls whose kernels may still come: a limit, some 100 MiB. Further ones are not timed.
  static constexpr std::size_t kMost = std::size_t{1} << 20;
  /// Generations after which a call has all of its kernels, and after which it never gets any.
  static constexpr std::uint64_t kSettled = 2, kPatience = 16;

  explicit KernelTimes(const Cupti& cupti) : cupti_(cupti) {}
  void let_go();
  static void buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
  static void buffer_completed(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                               std::size_t valid);
  static void resource_changed(void* self, int domain, std::uint32_t id, const void* data);
  void note_node(void* node, void* original);
  void read(std::uint8_t* buffer, std::size_t valid);
  void add(std::uint32_t correlation, std::uint32_t device, std::uint64_t begin, std::uint64_t end,
           std::uint64_t graph_node);
  void settle(profile::Recorder& recorder, bool last);

  const Cupti cupti_;
  void* subscriber_ = nullptr;
  std::mutex mutex_;  ///< of all below; CUPTI is not called under it, but for reading a buffer
  std::uint64_t last_call_ = 0;
  std::uint64_t generation_ = 0;                                       ///< settle() begins a new one
  std::vector<Ran> newer_, older_;                                     ///< since the last settle(), and before it
  std::unordered_map<std::uint32_t, Number> numbers_;                  ///< by correlation
  std::unordered_map<std::uint64_t, Call> calls_;                      ///< by number
  std::unordered_map<std::uint64_t, std::uint64_t> nodes_;             ///< of graphs: the call of each, 0: none
  std::unordered_map<std::uint64_t, Calls> captured_;                  ///< by number; they stay
  std::map<std::pair<std::uint64_t, std::uint32_t>, Replay> replays_;  ///< by call and correlation
  profile::Overlap overlap_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pauses_;   ///< by CUPTI's clock, in order
  std::uint64_t settled_at_ = 0, closed_at_ = ~std::uint64_t{0};  ///< by CUPTI's clock
  std::uint64_t kernels_ = 0, of_graphs_ = 0, unfinished_ = 0;
};

}  // namespace sennit::shim::recorder
