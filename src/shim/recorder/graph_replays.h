// This counts how often CUDA graphs run that have calls of NCCL in them. A call is seen once, when it is captured,
// and never when the graph is replayed. So each graph gets one node more, which counts in host memory. It is a kernel
// of one thread that waits for nothing, and for which nothing waits.
//
// The node counts whoever launches the graph, also where the CUDA runtime is linked into the program, and calls of
// the launch cannot be seen. Graphs that are copied, updated or put into others bring it along.
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

/// Thread-safe. The driver is called under no lock.
class GraphReplays {
 public:
  /// Graphs of one context whose replays are counted: a limit. Calls in others count once, as captured.
  static constexpr std::size_t kGraphs = 2048;

  explicit GraphReplays(const GpuDriver& driver) : driver_(driver) {}

  /// After a call that has enqueued work on `stream`, of which this was known before. Returns whether a graph has it
  /// now.
  bool note(const Capture& capture, void* stream, const profile::Class& of, std::uint64_t bytes);
  /// Tells the recorder of replays since the last time.
  void collect(profile::Recorder& recorder);

 private:
  /// A context's kernel, and the words that it counts in. The words are this process's own memory, which stays when
  /// the context goes.
  struct Counter {
    void* context = nullptr;
    unsigned long long id = 0;  ///< which no other context ever has, other than the handle
    void* function = nullptr;   ///< null: replays cannot be counted there
    unsigned long long device_words = 0;
    std::uint64_t* words = nullptr;
    std::size_t used = 0;
  };
  struct Captured {
    profile::Class of;
    std::uint64_t calls, bytes;
  };
  struct Graph {
    unsigned long long capture = 0;
    const std::uint64_t* word = nullptr;  ///< null: its replays are not counted
    std::uint64_t told = 0;
    std::vector<Captured> calls;
  };

  /// Makes what the stream's context needs, once: a kernel should not be loaded while a graph is captured.
  void prepare(void* stream);
  /// The one of the context, made where it is new.
  Counter& counter_of(void* context);
  Counter made_for(void* context, unsigned long long id) const;
  /// Adds the node to a graph of the stream's context. Returns its word, or null.
  const std::uint64_t* count(void* stream, void* graph);

  const GpuDriver driver_;
  std::array<std::atomic<std::uintptr_t>, 64> prepared_{};  ///< streams, by their hash; one more than the handle
  std::mutex mutex_;                                        ///< of all below
  std::deque<Counter> counters_;
  std::deque<Graph> graphs_;
};

}  // namespace sennit::shim::recorder
