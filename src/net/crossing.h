// Takes parts across between nodes: it makes the trips of a chunk (relay.h).
//
// The rail carries bytes, and GPUs add: an engine's own sums are made by one core, at some 7 GB/s at best. Of N
// nodes:
//
// - Two: each rank gets the other's whole part, and its GPU adds the two. One trip.
// - More: a part is N rows. 1. Each rank gets its own row of all other nodes' parts, and its GPU adds them.
//   2. The sums of all rows are gathered. Two trips, in which each rank sends 2 (N - 1) / N of the part.
// - Short parts, and those that have no N rows: the engine adds them, in one trip.
//
// All are added in the order of nodes, each number once or in the same order everywhere: all ranks get the same bits.
#pragma once

#include <vector>

#include "net/rail.h"
#include "net/relay.h"

namespace sennit::net {

/// Shorter parts are added by the rail's engine. A default: it takes some 40 µs for so many bytes, as long as GPUs
/// take to begin the copies and the kernel that they need beyond.
inline constexpr std::uint64_t kLeastOnGpu = 256 << 10;

/// Returns whether GPUs add parts of `bytes` bytes, when they do so from `least` bytes on. Pure.
constexpr bool adds_on_gpu(std::uint64_t bytes, int nodes, std::uint64_t least) {
  return bytes >= least && bytes % (kGrain * static_cast<std::uint64_t>(nodes)) == 0;
}

class Crossing {
 public:
  /// `rail`: of this rank, whose node is number `node` of `nodes`; outlives it. A chunk has memory for what a rank
  /// gives at its beginning, and for what comes from `half` on, as much; on the GPU and on the host.
  Crossing(Rail* rail, int nodes, int node, std::uint64_t half, std::uint64_t least_on_gpu)
      : rail_(rail), nodes_(nodes), node_(node), half_(half), least_(least_on_gpu) {}

  /// Says where a chunk's sum lies at the end, and the trips that bring it there.
  struct Sum {
    std::vector<Trip> trips;
    std::uint64_t at = 0;
  };
  /// Returns the most trips of any sum, on all ranks.
  std::size_t trips_of_sum() const { return nodes_ == 2 ? 1 : 2; }
  /// Sums the parts of `bytes` bytes that lie at the beginning. Everywhere:
  Sum sum(std::uint64_t bytes, const device::Reduction& reduction) const;
  /// The next function sums at node `root` alone:
  Sum sum_at(int root, std::uint64_t bytes, const device::Reduction& reduction) const;

  /// Row k, of `bytes` bytes, goes to node k; those that come are added to this rank's own, and `output_bytes` of the
  /// sum go to `output`; null: to this rank's place among the rows that came.
  Trip exchange(std::uint64_t bytes, const device::Reduction& reduction, std::byte* output,
                std::uint64_t output_bytes) const;
  /// The own one of the rows of `bytes` bytes from `at` on goes to all nodes, and those of all come.
  Trip gather(std::uint64_t at, std::uint64_t bytes) const;
  /// Returns the node that is so far behind this one; before(): the one that is so far before it.
  int behind(int distance) const { return (node_ + distance) % nodes_; }
  int before(int distance) const { return (node_ - distance + nodes_) % nodes_; }
  /// Gathers the rows from the beginning on, at node `root` alone; and scatters: of the rows that `root` has, each
  /// node gets its own.
  Trip gather_at(int root, std::uint64_t bytes) const;
  Trip scatter_from(int root, std::uint64_t bytes) const;
  /// Sends so many bytes from the beginning on to the node behind(distance), and receives so many from
  /// before(distance), to `half`.
  Trip swap(int distance, std::uint64_t sent, std::uint64_t received) const;
  /// Sends from node `root` to all others.
  Trip broadcast(int root, std::uint64_t bytes) const;

 private:
  /// Returns all rows but this rank's: from `device` on, and from `host` on.
  std::vector<Move> others(std::uint64_t device, std::uint64_t host, std::uint64_t bytes) const;
  std::uint64_t own(std::uint64_t bytes) const { return static_cast<std::uint64_t>(node_) * bytes; }
  /// Adds the other node's part that came, where there are two nodes. Its place on the host is that of its row.
  Trip add_other(std::uint64_t bytes, const device::Reduction& reduction) const;

  Rail* const rail_;
  const int nodes_, node_;
  const std::uint64_t half_, least_;
};

}  // namespace sennit::net
