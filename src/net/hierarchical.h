// Collectives over several nodes: sennit's within each node, a rail between them.
//
// By rails, when all nodes have as many ranks: each rank of a node gets its part of the sum (reduce-scatter), adds it
// to those of the ranks in its place in other nodes, and the node's ranks exchange what they have (allgather). Every
// rank sends 1/n of the message, so that all network adapters of a node work (Ahn et al., as in NCCL's and MPI's
// two-level allreduce). By leaders: the first rank of each node does it all (reduce, broadcast); an allreduce alone,
// for nodes that differ, and to compare.
#pragma once

#include <cstdint>

#include "coll/collectives.h"
#include "net/rail.h"
#include "net/relay.h"

namespace sennit::net {

enum class Way : std::uint8_t { rails, leaders };

/// A rank's place: which node, and which of its ranks.
struct Place {
  int node = 0, rank = 0;
};

class Hierarchical {
 public:
  /// Bytes of each rank's part that are under way as one. A default: of 4, 16 and 64 MiB the fastest from 16 MiB
  /// messages on, where host memory is the network (2 × H200, Open MPI and MPICH).
  static constexpr std::uint64_t kPart = 4 << 20;

  /// `node` and `collectives`: of this rank's node, which is number `number`. `rail`: of this rank; by leaders, of
  /// the node's first rank alone, else null. All outlive it.
  Hierarchical(path::Node& node, coll::Collectives& collectives, int number, Rail* rail, Way way,
               std::uint64_t part = kPart)
      : node_(node), collectives_(collectives), number_(number), rail_(rail), way_(way), part_(part), relay_(node) {}

  Way way() const { return way_; }

  /// Every one is collective over all ranks of all nodes, one at a time, and returns when it is done here. Memory is
  /// that of the node's device; input and output may be the same, else they do not overlap. `bytes`: whole elements.
  /// Errors: those of Collectives::call, of the rail, out_of_memory.
  Status all_reduce(const void* input, void* output, std::uint64_t bytes, const device::Reduction& reduction);
  /// By rails alone. `output`: of the rank in place `root`.
  Status reduce(const void* input, void* output, std::uint64_t bytes, const device::Reduction& reduction, Place root);
  /// By rails alone.
  Status broadcast(void* data, std::uint64_t bytes, Place root);

 private:
  /// Of the stages over all chunks, where those that are not divided are the matter of rank `owner` of each node.
  Status run(const Stages& stages, std::uint64_t bytes, int owner);
  std::uint64_t part_of(const Chunk& chunk) const;
  /// A collective of the node.
  Status call(coll::Operation operation, const void* input, void* output, std::uint64_t bytes,
              const device::Reduction& reduction, device::Lane& lane, int root = coll::kEveryRank);
  /// Stage 1 of what is reduced.
  Stages::Enqueue sum_of(const void* input, const device::Reduction& reduction, int owner);

  path::Node& node_;
  coll::Collectives& collectives_;
  const int number_;
  Rail* const rail_;
  const Way way_;
  const std::uint64_t part_;
  Relay relay_;
};

}  // namespace sennit::net
