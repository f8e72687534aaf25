// Keeps the order of a communicator's calls over the streams that they are enqueued on, and over the replays of
// graphs.
//
// 1. A call that is enqueued on another stream than the one before waits for that one's end.
// 2. A call in a capture waits for those before it in the same capture. All calls of a graph together are one to the
//    calls outside: each replay waits for the latest call outside, and records its own end as the latest.
// 3. Once a capture has had a call, the latest call may be a replay's, on any stream: then every call waits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "device/executor.h"

namespace sennit::coll {

/// Not thread-safe. What is said of a stream is kept: it may be gone when it is compared with.
class CallOrder {
 public:
  struct Turn;

  /// `executor` outlives it.
  explicit CallOrder(device::Executor& executor);
  ~CallOrder();

  /// Holds a call's place, to be handed to end() when the call is enqueued.
  struct Taken {
    Turn* turn;
    device::Queue queue;
  };
  /// Lets `lane` wait for the call before. Errors: those of the lane, and of making events.
  Result<Taken> take(device::Lane& lane);
  Status end(device::Lane& lane, const Taken& taken);

  /// Lets `lane` wait for the calls so far, where the latest was on another stream; of those that a capture recorded,
  /// where the lane is part of it; of those that graphs replay, always.
  Status follow(device::Lane& lane);

  /// Returns whether all calls are done, also those of the replays that were enqueued. Never blocks.
  Result<bool> idle();

  /// Returns whether there are graphs with calls in them, which may be replayed any time. From any thread.
  bool has_graphs() const { return graphs_.use_count() > 1; }

 private:
  /// Returns a capture's turn, with its event.
  Result<Turn*> turn_of(std::uint64_t capture, int device);
  /// Returns whether the call before may have been elsewhere than in `queue`, which then has to wait for it.
  bool is_behind(const device::Queue& queue, const Turn& turn) const;

  device::Executor& executor_;
  /// The turns, by capture. 0: that of calls that run at once, whose end the replays of graphs wait for and record as
  /// well.
  std::map<std::uint64_t, Turn> turns_;
  bool has_captured_ = false;
  const std::shared_ptr<int> graphs_ = std::make_shared<int>();  // each of them holds it, too
};

/// Holds the end of the call before, and where it was.
struct CallOrder::Turn {
  std::unique_ptr<device::Event> end;
  std::optional<device::Queue> queue;  ///< none: there was no call
  std::uint64_t capture = 0;           ///< whose calls, as turns_ has it
  device::ReplayRecord replayed;       ///< of a capture: where its graph records the end of all its calls
};

}  // namespace sennit::coll
