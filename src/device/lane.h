// A lane is a queue of work of one device, done in order and driven from the host. CUDA calls it a stream; the host
// executor gives it a thread. Lane programs (path/, coll/) are written against this interface alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "device/program.h"
#include "device/word.h"

namespace sennit::device {

/// A point in a lane that other lanes, of any device of this process, can wait for. Reusable: a wait refers to the
/// latest record before it. Events with timing also say when they were passed.
class Event {
 public:
  virtual ~Event() = default;
  /// True once the work before the latest record is done; true when never recorded. Never blocks.
  virtual Result<bool> done() = 0;
  /// Returns the microseconds from `start`'s latest record to this one's; both made with timing, of one device, and
  /// done.
  virtual Result<double> since(Event& start) = 0;
};

/// Notes where a graph that is being captured records an event at each of its replays: see Lane::record_in_replays().
/// It belongs to one capture, and holds nothing that outlives the capture.
struct ReplayRecord {
  void* node = nullptr;       ///< a cudaGraphNode_t; null: there is none yet
  std::vector<void*> behind;  ///< the nodes it waits for
};

/// The queue of work behind a lane at one moment.
struct Queue {
  std::uint64_t capture = 0;  ///< as Lane::capture()
  std::uint64_t stream = 0;   ///< the same for all lanes over one stream; CUDA gives it again once that is destroyed
  std::uint64_t id = 0;       ///< of this stream alone, for ever; 0 in a capture, which CUDA ends when asked for it

  /// True for two lanes over one stream. A capture keeps its streams, so there the handle is enough.
  bool is_same_stream(const Queue& other) const {
    return stream == other.stream && (id == other.id || capture != 0 || other.capture != 0);
  }
};

/// Work of a lane that is enqueued whole, again and again.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual Status launch() = 0;  ///< enqueues it in the lane that made it, which outlives the graph
};

class Lane {
 public:
  virtual ~Lane() = default;

  virtual int device() const = 0;
  /// Says where the lane's next work goes. Over cudaStreamPerThread: in the calling thread. Keep the answer rather
  /// than the stream's handle to compare with later: the program may destroy the stream while its work goes on.
  virtual Queue queue() = 0;
  /// Returns the cudaStream_t that other libraries enqueue on, to be in the lane's order; null where there is no
  /// stream.
  virtual void* native() { return nullptr; }

  /// Copies bytes in lane order, by a copy engine where the device has them. Any memories this process can address;
  /// pageable host memory makes the call synchronous. Overlap is the caller's error. Copies of 0 bytes do nothing.
  virtual Status copy(void* dst, const void* src, std::uint64_t bytes) = 0;

  /// Copies the word at `here`, as it is when the lane comes to it, to `there`: after it, everything that the lane
  /// did before is seen by whoever awaits the word (as Block::signal()).
  virtual Status post(Word* there, const Word* here) = 0;

  /// Writes `value` to `there`, in host memory that devices reach, when the lane comes to it; ordered as post(), and
  /// sooner than its copy or an event: the driver is not asked whether it is done.
  virtual Status signal(Word* there, Word value) = 0;

  /// Runs `blocks` blocks of a program in lane order; the argument struct is copied before return. Blocks may
  /// wait for blocks of the same number elsewhere. Those that wait for others all have to run at the same time: at
  /// most concurrent_blocks() of the executor; of the rest there may be more, since devices begin blocks in the order
  /// of their numbers, and so every device comes to the lowest that is not done. `threads` of a block, a multiple of
  /// 32 up to kBlockThreads: GPUs alone have them.
  virtual Status launch(const Program& program, const void* arguments, unsigned blocks, unsigned threads) = 0;

  virtual Status record(Event& event) = 0;
  virtual Status wait(Event& event) = 0;

  /// Blocks the caller until all work so far is done. Errors: device_error; timed_out or aborted when a block program
  /// gave up; the fault is described.
  virtual Status synchronize() = 0;
  /// True only when all work so far is done; false where that cannot be told. Never blocks.
  virtual Result<bool> idle() = 0;
  /// Names the capture into a CUDA graph that the lane's work is part of; 0: it is not being captured, as no other
  /// executor's ever is.
  virtual std::uint64_t capture() { return 0; }
  bool capturing() { return capture() != 0; }

  /// Makes a graph of what `work` enqueues in this lane, and brings it to the device: none of it runs yet. Errors:
  /// those of `work`; unsupported where the executor has no graphs.
  virtual Result<std::unique_ptr<Graph>> graph_of(const std::function<Status()>& work);

  /// Makes what follows in the lane wait, at each replay, for the latest record of `event` that was enqueued before
  /// the replay was, by a lane or by the replay of a graph. Only in a capture; an error outside.
  virtual Status wait_in_replays(Event&) { return not_captured(); }
  /// Makes each replay record `event` behind what the lane has captured by now. Given one `at` again, the place moves
  /// here, so that a replay records the event once. Nothing waits for it. Only in a capture; an error outside.
  virtual Status record_in_replays(Event&, ReplayRecord&) { return not_captured(); }
  /// Keeps `what` until the graph, and all that was made of it, are gone and run no more. `what` is destroyed in a
  /// thread that may call nothing of the device's. Only in a capture; an error outside.
  virtual Status keep_in_replays(std::shared_ptr<void>) { return not_captured(); }

 protected:
  static Status not_captured() {
    return {Code::invalid_argument,
            "the lane is not being captured, or its capture has failed",
            {},
            "Begin a capture first"};
  }
};

}  // namespace sennit::device
