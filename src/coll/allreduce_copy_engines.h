// Allreduce by copy engines: they carry every byte between GPUs, faster than stores of kernels do (4 × H200: 388
// instead of 354 GB/s a GPU), and kernels only add what has arrived, on few SMs.
//
// A lane program: the caller's lane runs the kernels, one other all copies, in rounds: in each every rank sends to
// one peer and gets from one. A lane for each peer is slower (4 × H200, 256 MiB: 2382 instead of 2193 µs, and with
// 256 MiB of scratch 1976 instead of 1361), and so are lanes of their own for scatter and gather (2 × H200, 1 GiB:
// 3557 instead of 3471). Slices are cut into chunks; the slots of the scratch hold the arrivals of kDepth chunks of
// both kinds.
//
// 1. All ranks meet (EngineStart): no rank uses the slots any more for what came before. Then tickets are written:
//    the counts that this call's chunks will have, in memory of this rank, since a captured call must find new ones
//    every time.
// 2. For each chunk, scatter: each peer gets its slice's chunk of our input, and then the chunk's ticket.
// 3. Reduce (EngineReduce): once every peer's ticket has come, its chunk is added, into our own slice of the output.
// 4. Gather, one chunk behind: each peer gets the chunk of our slice of the output, and its ticket.
// 5. Keep (EngineKeep): once every peer's ticket has come, the chunks of their slices are copied into the output.
// 6. All ranks meet again (EngineEnd): no slots are in use when the next call begins.
//
// Who may write where: the scatter of chunk t goes where chunk t - kDepth was; it waits until we have kept the chunk
// t - kDepth of every peer, which each peer sent after it had reduced t - kDepth. The gather of chunk t waits for our
// own reduction of t, hence for every peer's scatter of t, which each sent after it had kept t - kDepth.
//
// Kernels also wait for the copies of their own rank: peers need those in order to send what the kernels wait for,
// and a graph may run its branches one after the other.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "coll/meeting.h"
#include "coll/reduce_call.h"
#include "device/executor.h"

namespace sennit::coll {

/// Words of Team::news.
enum News : unsigned { kScattered = 0, kGathered = 1 };

/// The tickets lie in memory of their rank; they are zeroed when made.
struct Tickets {
  /// Most chunks of a call: a limit of the memory.
  static constexpr unsigned kMost = 1024;
  device::Word chunks = 0;  ///< of all calls so far
  device::Word ticket[kMost] = {};
};

/// Says where the arrivals lie in the slots, and how messages are cut: equal on every rank.
struct EngineShape {
  static constexpr unsigned kDepth = 3;
  std::uint64_t room = 0;  ///< for one chunk of one peer

  SENNIT_DEVICE static EngineShape of(const Team& team) {
    const auto places = 2 * kDepth * static_cast<unsigned>(team.size - 1);
    return {device::in_units(team.shape.slots_bytes() / places)};
  }
  /// Returns the place of an arrival at `at`, from `from`.
  SENNIT_DEVICE std::byte* arrival(const Team& team, int at, int from, News kind, unsigned chunk) const {
    const unsigned place = static_cast<unsigned>(from < at ? from : from - 1);
    const unsigned line = (kind == kScattered ? 0 : kDepth) + chunk % kDepth;
    return team.slots(at) + (line * static_cast<unsigned>(team.size - 1) + place) * room;
  }
};

/// Cuts chunks of equal size, so that the last ones are not small.
SENNIT_DEVICE SliceChunks engine_chunks(const ReduceCall& call, const Team& team, std::uint64_t most) {
  const std::uint64_t slice = device::part_of(call.bytes, 0, static_cast<unsigned>(team.size)).end;
  const auto count = static_cast<unsigned>((slice + most - 1) / most);
  return {call.bytes, Partition::of(call.bytes, static_cast<unsigned>(team.size), 1), 0,
          device::part_of(slice, 0, count).end};
}

/// Waits for every peer's ticket. False too where this call has no ticket, since ranks have not met.
template <class Block>
SENNIT_DEVICE bool await_tickets(Block& block, const Team& team, const device::Word* ticket, News kind,
                                 device::Word wait_id) {
  if (!block.sound()) return false;
  const device::Word expected = block.load(ticket);
  return block.await_each(team.ranks(), [&](unsigned i) -> device::Wait {
    const int peer = static_cast<int>(i);
    if (peer == team.rank) return {};
    return {team.news(team.rank, peer, kind), expected, wait_id, peer};
  });
}

struct EngineStart {
  static constexpr const char* kName = "allreduce_copy_engines start";
  enum WaitId : device::Word { kStart = 31 };
  Team team;
  Tickets* tickets;
  unsigned chunks;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const device::Word before = block.load(&tickets->chunks);
    // Tickets are written only once all ranks have come: engines copy whatever happens, but what follows is then no
    // ticket.
    if (!Meetings(block, team).meet(kStart)) return;
    for (unsigned first = 0; first < chunks; first += 32)
      block.each(32, [&](unsigned i) {
        if (first + i < chunks) tickets->ticket[first + i] = before + first + i + 1;
      });
  }
};

/// Holds what the kernels of one chunk need to know.
struct EngineStep {
  ReduceCall call;
  Team team;
  const device::Word* ticket;
  std::uint64_t most;  ///< bytes of a chunk, as all ranks cut it
  unsigned chunk;

  template <class Block>
  SENNIT_DEVICE bool await(Block& block, News kind, device::Word wait_id) const {
    return await_tickets(block, team, ticket, kind, wait_id);
  }
  /// Returns the rank's chunk in the message.
  SENNIT_DEVICE device::Part chunk_of(int rank) const { return engine_chunks(call, team, most).of(rank, chunk); }
  SENNIT_DEVICE const std::byte* arrived_from(int peer, News kind) const {
    return EngineShape::of(team).arrival(team, team.rank, peer, kind, chunk);
  }
};

struct EngineReduce {
  static constexpr const char* kName = "allreduce_copy_engines reduce";
  enum WaitId : device::Word { kArrived = 32 };
  EngineStep step;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    if (!step.await(block, kScattered, kArrived)) return;
    const Team& team = step.team;
    const auto chunk = step.chunk_of(team.rank);
    const auto part = device::part_of(chunk.bytes(), block.index(), block.count());
    const auto source = [&](unsigned rank) -> const void* {
      const int of = static_cast<int>(rank);
      return part.begin + (of == team.rank ? step.call.input + chunk.begin : step.arrived_from(of, kScattered));
    };
    const auto destination = [&](unsigned) { return step.call.output + chunk.begin + part.begin; };
    block.reduce({part.bytes(), team.ranks(), 1}, source, destination, step.call.reduction, whole(team.size));
  }
};

/// Engines copy whatever happens. Where a block has given up, what follows is no ticket, so that no peer takes for
/// reduced what is not.
struct EngineReduced {
  static constexpr const char* kName = "allreduce_copy_engines reduced";
  Tickets* tickets;
  unsigned chunk;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    if (!block.sound()) block.store(&tickets->ticket[chunk], block.load(&tickets->chunks));
  }
};

struct EngineKeep {
  static constexpr const char* kName = "allreduce_copy_engines keep";
  enum WaitId : device::Word { kArrived = 33 };
  EngineStep step;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    if (!step.await(block, kGathered, kArrived)) return;
    for (int turn = 1; turn < step.team.size; ++turn) {
      const int peer = step.team.after(turn);
      const auto chunk = step.chunk_of(peer);
      const auto part = device::part_of(chunk.bytes(), block.index(), block.count());
      block.copy(step.call.output + chunk.begin + part.begin, step.arrived_from(peer, kGathered) + part.begin,
                 part.bytes());
    }
  }
};

struct EngineEnd {
  static constexpr const char* kName = "allreduce_copy_engines end";
  enum WaitId : device::Word { kEnd = 34 };
  Team team;
  Tickets* tickets;
  unsigned chunks;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const device::Word all = block.load(&tickets->chunks) + chunks;
    if (Meetings(block, team).meet(kEnd)) block.store(&tickets->chunks, all);
  }
};

/// Describes what this rank copies to another, or to itself, in their window.
struct WindowMessage {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::uint64_t bytes = 0;
};

/// Keeps the host's part of such calls: lanes for the copies, and the events they wait for. One call at a time is
/// enqueued.
class CopyEngines {
 public:
  /// Errors: those of the executor.
  static Result<std::unique_ptr<CopyEngines>> create(device::Executor& executor, int device, const Team& team);

  /// `blocks` of the kernels that add and keep. Errors: those of the lanes.
  Status run(const ReduceCall& call, device::Lane& lane, unsigned blocks);
  /// Straight into the peers' buffers: copy_engines_windows.h. `before` enqueues what comes between the meeting and
  /// the copies.
  Status exchange(std::span<const WindowMessage> messages, device::Lane& lane,
                  const std::function<Status()>& before = {});
  /// Brings their programs to the device.
  static Status load(device::Executor& executor, int device);
  /// Admission: whatever the blocks.
  static std::uint64_t most_bytes(const Team& team, unsigned blocks);

 private:
  /// A lane for copies. One that has joined a capture belongs to that until the capture ends.
  struct Engine {
    std::unique_ptr<device::Event> fork, sent;
    std::vector<std::unique_ptr<device::Event>> reduced, kept;  // by chunk, in turn
    std::unique_ptr<device::Lane> lane;                         // last: it ends before what it uses
  };
  CopyEngines(device::Executor& executor, int device, const Team& team)
      : executor_(executor), device_(device), team_(team) {}
  Result<Engine> make_engine();
  /// Returns an engine that works beside `lane`: in no capture, or in the same one.
  Result<Engine*> engine_for(device::Lane& lane);
  Status send(const ReduceCall& call, Engine& engine, device::Lane& lane, News kind, unsigned chunk,
              std::uint64_t most, device::Event* after);

  device::Executor& executor_;
  int device_;
  Team team_;
  device::Memory memory_;  // of the tickets
  Tickets* tickets_ = nullptr;
  std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace sennit::coll
