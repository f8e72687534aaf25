// Makes collectives over several nodes: by sennit's collectives within each node, and a rail between nodes.
//
// By rails, when all nodes have as many ranks: each rank of a node gets its part of the sum (reduce-scatter), adds it
// to those of the ranks in its place in other nodes (crossing.h), and the node's ranks exchange what they have
// (allgather). Every rank sends 1/n of the message, so that all network adapters of a node work (Ahn et al., as in
// NCCL's and MPI's two-level allreduce). By leaders: the first rank of each node does it all (reduce, broadcast); an
// allreduce and a broadcast alone, for nodes that differ, and to compare.
//
// By adapters: a broadcast goes by one rank for each network adapter (leaders.h), as many in each node, each with its
// part; they spread it to all ranks of their node chunk by chunk while the next chunk comes (Chu et al., section 6,
// do so with one leader for each adapter or socket, and a ring of chunks in GPU memory). Other collectives go by
// rails, or where nodes have different numbers of ranks by leaders.
//
// An allgather and a reduce-scatter are halves of this. Their messages are in the order of ranks, which need not be
// that of nodes: a rank's row is that of its node on the rail, and of its place in the node; copies in the GPU bring
// rows to and from the places of their ranks. An all-to-all goes in rounds (all_to_all.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "coll/collectives.h"
#include "net/all_to_all.h"
#include "net/crossing.h"
#include "net/places.h"
#include "net/rail.h"
#include "net/relay.h"

namespace sennit::net {

enum class Way : std::uint8_t { rails, adapters, leaders };

/// Says how collectives leave this rank's node.
struct Rails {
  Way way = Way::rails;
  /// Leads from this rank to the ranks in its place in other nodes. By leaders, and by adapters where nodes are not
  /// alike, of the node's first rank alone, else null.
  Rail* rail = nullptr;
  bool alike = true;  ///< all nodes have as many ranks, which rails want
  /// By adapters alone: the ranks of this node that lead broadcasts, as many in each node; and of a rank that is one
  /// of them the rail to those that are in its place of the list in other nodes, else null.
  std::vector<int> leaders;
  Rail* leader_rail = nullptr;

  /// Returns whether each rank has a part of all that is not a broadcast.
  bool divide() const { return alike && way != Way::leaders; }
};

/// The messages of a gather or a scatter, in bytes.
struct OfOneRank {
  std::uint64_t own = 0;      ///< of this rank's message; 0 where that is in place
  std::uint64_t longest = 0;  ///< of all messages, the same on each rank
  /// Lists, at the root alone and by rank, the length of each message, and where it begins in the root's memory. A
  /// message that is in place there has no length.
  std::span<const std::uint64_t> lengths, begins;
};

class Hierarchical {
 public:
  struct Options {
    /// Bytes of each rank's part that are under way as one. A default: of 4, 16 and 64 MiB the fastest from 16 MiB
    /// messages on, where host memory is the network (2 × H200, Open MPI and MPICH).
    std::uint64_t part = 4 << 20;
    std::uint64_t least_on_gpu = kLeastOnGpu;
  };

  /// Collective over the ranks of this rank's node, which is number `number` of `nodes`, and of which `node` and
  /// `collectives` are; makes all memory that calls need. All that is referred to outlives it. Errors, the same on
  /// every rank of the node: out_of_memory, those of Collectives::call. The ranks of other nodes do not hear of them
  /// here, and must before the first call.
  static Result<std::unique_ptr<Hierarchical>> create(node::Node& node, coll::Collectives& collectives, int nodes,
                                                      int number, Rails rails, Options options);

  /// Returns how an operation goes.
  Way way(coll::Operation operation) const {
    if (operation == coll::Operation::broadcast) return rails_.way;
    return rails_.divide() ? Way::rails : Way::leaders;
  }
  /// Returns how many ranks of each node take part in a broadcast between nodes.
  std::size_t leaders() const { return rails_.leaders.size(); }

  /// Every one is collective over all ranks of all nodes, one at a time, and returns when it is done here. Memory is
  /// that of the node's device; input and output may be the same, else they do not overlap. `bytes`: whole elements.
  /// Operators do not scale (average, premultiplied_sum). All but allreduce and broadcast by rails alone. Errors:
  /// those of Collectives::call, and of the rail; they end the node.
  Status all_reduce(const void* input, void* output, std::uint64_t bytes, const device::Reduction& reduction);
  /// `output`: of the rank in place `root`.
  Status reduce(const void* input, void* output, std::uint64_t bytes, const device::Reduction& reduction, Place root);
  Status broadcast(void* data, std::uint64_t bytes, Place root);
  /// `bytes`: of each rank's message. `places`: of all ranks, in the order of their messages in the output. The input
  /// may be its place there.
  Status all_gather(const void* input, void* output, std::uint64_t bytes, std::span<const Place> places);
  /// Gathers messages that each have a length of their own, and a place in the output: `lengths` and `begins`, by
  /// rank. Rows on the rail are as long as the longest.
  Status all_gather_v(const void* input, void* output, std::span<const std::uint64_t> lengths,
                      std::span<const std::uint64_t> begins, std::span<const Place> places);
  /// `output`: of the rank in place `root`; as of an allgather. And the other way round: `input` is that rank's.
  Status gather(const void* input, void* output, std::uint64_t bytes, Place root, std::span<const Place> places);
  Status scatter(const void* input, void* output, std::uint64_t bytes, Place root, std::span<const Place> places);
  /// The two move messages that each have a length of their own, in rows as long as the longest.
  Status gather_v(const void* input, void* output, const OfOneRank& messages, Place root,
                  std::span<const Place> places);
  Status scatter_v(const void* input, void* output, const OfOneRank& messages, Place root,
                   std::span<const Place> places);
  /// `bytes`: of each rank's result. `places`: of all ranks, in the order of what is theirs in the input. The output
  /// may be the first of these.
  Status reduce_scatter(const void* input, void* output, std::uint64_t bytes, const device::Reduction& reduction,
                        std::span<const Place> places);
  /// Reduces to results that each have a length of their own, and a place in the input: `lengths` and `begins`, by
  /// rank, one behind the other. The output may be the input's beginning: what goes there of a chunk lies before all
  /// that is read for later ones. Rows are as long as the longest.
  Status reduce_scatter_v(const void* input, void* output, std::span<const std::uint64_t> lengths,
                          std::span<const std::uint64_t> begins, const device::Reduction& reduction,
                          std::span<const Place> places);
  /// `bytes`: of each message. `places`: of all ranks, in the order of messages in input and output, which may not be
  /// the same.
  Status all_to_all(const void* input, void* output, std::uint64_t bytes, std::span<const Place> places);
  /// Exchanges messages that each have a length of their own. Input and output may not overlap.
  Status all_to_all_v(const void* input, void* output, const Messages& messages, std::span<const Place> places);
  /// Returns how many rounds an all-to-all takes whose longest message has `longest` bytes.
  std::size_t rounds(std::uint64_t longest) const { return rounds_of(longest).size(); }

 private:
  Hierarchical(node::Node& node, coll::Collectives& collectives, int nodes, int number, Rails rails, Options options,
               std::uint64_t room)
      : node_(node),
        collectives_(collectives),
        nodes_(nodes),
        number_(number),
        rails_(std::move(rails)),
        part_(options.part),
        room_(room),
        crossing_(rails_.rail, nodes, number, room, options.least_on_gpu),
        relay_(node) {}

  /// Messages within the node, by its ranks.
  struct Pieces {
    Pieces() = default;
    explicit Pieces(int ranks) : sent(as_count(ranks)), sent_from(sent), received(sent), received_to(sent) {}
    std::vector<std::uint64_t> sent, sent_from, received, received_to;
  };
  Status prepare();
  /// Returns this rank's place among the leaders; no value: it is no leader.
  std::optional<std::size_t> own_lead() const;
  /// Brings a chunk of a broadcast from the root's memory to the leaders of its node, each its part; and from the
  /// leaders to the ranks of this node. `owner`: the leader that has a chunk which is not divided.
  Status to_leaders(const std::byte* data, const Chunk& chunk, Place root, int owner, std::byte* part,
                    device::Lane& lane);
  Status from_leaders(std::byte* data, const Chunk& chunk, Place root, int owner, const std::byte* part,
                      device::Lane& lane);
  std::vector<Chunk> chunks(std::uint64_t bytes) const;
  std::uint64_t part_of(const Chunk& chunk) const;
  /// Returns whether this rank has a part of the chunk; a chunk that is not divided belongs to rank `owner` of each
  /// node.
  bool has_part(const Chunk& chunk, int owner) const { return !chunk.whole || node_.rank() == owner; }
  /// Runs chunks over messages that lie in rows, the longest of so many bytes: each chunk is a piece of every row.
  Status run_over_rows(std::uint64_t longest, const std::function<Course(const Chunk&)>& course_of);
  /// Stage 1 of what is gathered: this rank's piece goes to its row. Null where the message has ended.
  Enqueue to_own_row(const void* input, std::uint64_t bytes, const Chunk& chunk) const;
  /// Returns the offset of a rank's row among those of all ranks, each of `bytes` bytes.
  std::uint64_t row_of(Place place, std::uint64_t bytes) const {
    return (static_cast<std::uint64_t>(place.rank) * static_cast<std::uint64_t>(nodes_) +
            static_cast<std::uint64_t>(place.node)) *
           bytes;
  }
  /// Returns the length of this rank's message.
  std::uint64_t own_of(std::span<const std::uint64_t> lengths, std::span<const Place> places) const;
  /// Copies between the rows of all ranks, `row` bytes apart, and where they are in the program's memory. Of a row
  /// whose message has ended, the rest is whatever was there.
  Status to_rows(std::byte* rows, std::uint64_t row, const void* input, std::span<const std::uint64_t> lengths,
                 std::span<const std::uint64_t> begins, const Chunk& chunk, std::span<const Place> places,
                 device::Lane& lane) const;
  Status from_rows(const std::byte* rows, std::uint64_t row, void* output, std::span<const std::uint64_t> lengths,
                   std::span<const std::uint64_t> begins, const Chunk& chunk, std::span<const Place> places,
                   device::Lane& lane) const;
  /// Makes a collective of the node.
  Status call(coll::Operation operation, const void* input, void* output, std::uint64_t bytes,
              const device::Reduction& reduction, device::Lane& lane, int root = coll::kEveryRank);
  std::vector<Round> rounds_of(std::uint64_t longest) const;
  Status exchange(const void* input, void* output, const Pieces& pieces, device::Lane& lane);
  /// `ranks`: by node, and for each by place.
  Course course_of(const Round& round, const void* input, void* output, const Messages& messages,
                   std::span<const std::size_t> ranks);
  /// Stage 1 of what is reduced.
  Enqueue sum_of(const void* input, const Chunk& chunk, const device::Reduction& reduction, int owner);

  node::Node& node_;
  coll::Collectives& collectives_;
  const int nodes_, number_;
  const Rails rails_;
  const std::uint64_t part_;
  const std::uint64_t room_;  // for what a rank gives of a chunk
  const Crossing crossing_;
  Relay relay_;
  device::Memory rows_;  // of all ranks, of a chunk
};

}  // namespace sennit::net
