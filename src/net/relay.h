// Takes chunks through stages that overlap, which all collectives over several nodes do.
//
// 1. Gather: the ranks of a node leave each what is its own of the chunk in memory of its GPU, by a collective of
//    sennit's.
// 2. One trip, or two: bytes go down to host memory, over the rail, and up again; work of the GPU may follow.
// 3. Spread: a second collective of the node brings what came to where the ranks want it.
//
// The calling thread is in the rail's call for one chunk while the next ones are gathered and go down: so GPUs, copy
// engines and network work at once. Each trip of a chunk begins one turn after the one before, hence behind a call of
// another chunk's on the rail. Every rank of a node enqueues stages 1 and 3 in the same order, and every rank of a
// rail makes its calls in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "node/node.h"

namespace sennit::net {

/// A piece of a message.
struct Chunk {
  std::uint64_t begin = 0, bytes = 0;  ///< in the message
  bool whole = false;                  ///< it is not divided: its one part is a single rank's of the node
};

/// Parts begin at multiples of it: numbers do not straddle them, and copies are fast.
inline constexpr std::uint64_t kGrain = 128;

/// Returns chunks of about `most` bytes, at most kGrain * `parts` more, of which each has `parts` equal parts of
/// whole grains, and behind them what has not; `whole`: all of them are. Pure.
std::vector<Chunk> chunks_of(std::uint64_t bytes, std::uint64_t most, int parts, bool whole);

/// Bytes that are copied between a chunk's memory on the GPU and its memory on the host; places in each.
struct Move {
  std::uint64_t device = 0, host = 0, bytes = 0;
};

using Enqueue = std::function<Status(std::byte* memory, device::Lane& lane)>;

struct Trip {
  std::vector<Move> down;
  std::function<Status(std::byte* host)> rail;  ///< blocks
  std::vector<Move> up;
  Enqueue then;  ///< behind the bytes that came up; waits for no other rank. Null: nothing
};

/// Says what this rank does for a chunk. `gather` and `spread` may be null.
struct Course {
  Enqueue gather;
  std::vector<Trip> trips;  ///< none: the rank has no part in them
  Enqueue spread;
};

class Relay {
 public:
  /// Most trips of a chunk.
  static constexpr std::size_t kMostTrips = 2;

  explicit Relay(node::Node& node) : node_(node) {}

  /// Makes the memory of all chunks that are under way at once: to be called before run(), where a rank that has no
  /// memory still keeps no other waiting. `bytes`: of a chunk on the GPU, and as many on the host; 0 where this rank
  /// makes no trips. Errors: out_of_memory.
  Status prepare(std::uint64_t bytes);

  /// Takes chunks 0 to `count` - 1 through their stages, in this order; returns when all is done. `trips`: most of
  /// any chunk, the same on all ranks. Errors: those of the stages, and the node's; they end the node, since its
  /// ranks would wait for each other for ever.
  Status run(std::size_t count, std::size_t trips, const std::function<Course(std::size_t)>& course_of);

 private:
  /// A default: one chunk in each stage, and one between gather and trips.
  static constexpr std::size_t kSlots = kMostTrips + 2;

  /// A chunk's memory, and where it stands.
  struct Slot {
    device::Memory memory, host;
    std::unique_ptr<device::Event> gathered, down, up, spread;
    Course course;
  };
  Status run_all(std::size_t count, std::size_t trips, const std::function<Course(std::size_t)>& course_of);
  Status gather(Slot& slot);
  Status go_down(Slot& slot, const Trip& trip);
  Status make(Slot& slot, std::size_t number);
  Status spread(Slot& slot);
  Status wait_for(device::Event& event) const;

  node::Node& node_;
  std::unique_ptr<device::Lane> down_, up_;
  std::vector<Slot> slots_;
};

}  // namespace sennit::net
