// An allreduce over several nodes that is enqueued and returns, as calls of NCCL do; hierarchical.h has those that
// block, over rails that carry host memory.
//
// A message is cut into chunks, of which each is in one of three stages (Ahn et al., as in NCCL's and MPI's two-level
// allreduce):
//
// 1. Gather: reduce-scatter among the ranks of a node, on the call's lane: each rank has its part of the node's sum.
// 2. Cross: allreduce of that part over the rail, on the rail's lane.
// 3. Spread: allgather among the ranks of the node, on the call's lane.
//
// The call's lane gathers chunk i + 1 before it spreads chunk i: so the node works while the rail does. What cannot
// be divided among the ranks is reduced to the first one of each node, crosses on its rail alone, and is broadcast:
// were each rail to add it for itself, the ranks of a node might get different bits.
//
// On every rank the lanes get the same work in the same order, and at any time at most one collective of the node and
// one of the rail run for a communicator: none waits on one GPU for room that the other has on the next.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/collectives.h"
#include "net/lane_rail.h"
#include "net/relay.h"
#include "path/node.h"

namespace sennit::net {

class EnqueuedAllreduce {
 public:
  struct Options {
    /// Bytes of each rank's part of a chunk: a default, not measured.
    std::uint64_t part = 4 << 20;
  };

  /// Collective over the ranks of this rank's node, of which `node` and `collectives` are; makes all memory that
  /// calls need. All nodes have as many ranks. `rail`: of this rank. All outlive it. Errors, the same on every rank
  /// of the node: out_of_memory. The ranks of other nodes do not hear of them here, and must before the first call.
  static Result<std::unique_ptr<EnqueuedAllreduce>> create(path::Node& node, coll::Collectives& collectives,
                                                           LaneRail& rail, Options options);

  /// Enqueues it in the order of `lane`; collective over all ranks of all nodes. Input and output, of `bytes` bytes,
  /// are whole elements in memory of the node's device, and the same or apart. Operators do not scale (average,
  /// premultiplied_sum). The call may be part of a graph's capture, which the rail's lane then joins. Calls on
  /// several lanes follow one another. Errors: those of Collectives::call, and of the rail; unsupported outside of a
  /// capture that the lane has joined and that has not ended.
  Status call(const void* input, void* output, std::uint64_t bytes, const device::Reduction& reduction,
              device::Lane& lane);

 private:
  EnqueuedAllreduce(path::Node& node, coll::Collectives& collectives, LaneRail& rail, Options options)
      : node_(node), collectives_(collectives), rail_(rail), options_(options) {}

  /// The rank of each node that has what is not divided.
  static constexpr int kOwner = 0;
  /// Chunks that are under way at once: one is gathered or spread while another one crosses.
  static constexpr std::size_t kSlots = 2;
  struct Slot {
    device::Memory part;
    std::unique_ptr<device::Event> gathered, crossed;
  };

  Status prepare();
  std::vector<Chunk> chunks(std::uint64_t bytes) const;
  std::uint64_t part_of(const Chunk& chunk) const;
  bool has_part(const Chunk& chunk) const { return !chunk.whole || node_.rank() == kOwner; }
  Status gather(const Chunk& chunk, Slot& slot, const void* input, const device::Reduction& reduction,
                device::Lane& lane);
  Status cross(const Chunk& chunk, Slot& slot, const device::Reduction& reduction);
  Status spread(const Chunk& chunk, Slot& slot, void* output, device::Lane& lane);

  path::Node& node_;
  coll::Collectives& collectives_;
  LaneRail& rail_;
  const Options options_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace sennit::net
