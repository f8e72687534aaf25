// Lists what is measured: the tests of the OSU micro-benchmarks, by the names that MPI has for them, and by their
// own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sennit::bench::mpi {

enum class Operation {
  latency,        ///< rank 0 → rank 1 → rank 0, one message at a time
  multi_latency,  ///< rank i → rank i + n / 2 → rank i, all pairs at once
  partitioned,    ///< as latency, of requests whose message is given in parts
  bandwidth,      ///< rank 0 → rank 1, a window of messages at a time
  bidirectional,  ///< both ways at once
  multi_pair,     ///< rank i → rank i + n / 2, all pairs at once
  put,            ///< of rank 0, into a window of rank 1, between two fences
  get,            ///< of rank 0, out of it
  accumulate,
  get_accumulate,
  fetch_and_op,  ///< of one integer of 8 bytes, as OSU has it
  compare_and_swap,
  put_bandwidth,  ///< several at a time
  put_bidirectional,
  get_bandwidth,
  exchange,  ///< of a pattern: every rank sends to its neighbours at once; by --patterns alone
  allreduce,
  reduce,
  bcast,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce_scatter_block,
  reduce_scatter,
  gather,
  gatherv,
  scatter,
  scatterv,
  scan,
  exscan,
  barrier,
  neighbor_allgather,  ///< of a ring: each rank and the one on either side
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
};

/// Says how a call is made: as one; begun, and waited for at once; or as a request that is made once, and started and
/// waited for each time.
enum class Style { blocking, nonblocking, persistent };

struct Benchmark {
  Operation operation = Operation::latency;
  Style style = Style::blocking;
  bool operator==(const Benchmark&) const = default;
};

/// "bandwidth", "iallreduce", "allreduce_init".
std::string name(const Benchmark& benchmark);
inline std::string name(Operation operation) {
  return name(Benchmark{operation});
}
/// "osu_bw", "osu_iallreduce", "osu_allreduce_persistent"; empty where OSU 7.4 has no such program.
std::string osu_name(const Benchmark& benchmark);
std::span<const Operation> all_operations();
/// Lists the operations in each style that MPI has for them.
std::span<const Benchmark> all_benchmarks();
/// Parses either name, OSU's also without "osu_"; "all", or "osu": all that OSU has. Errors: invalid_argument says
/// which there are.
Result<std::vector<Benchmark>> parse_benchmarks(std::string_view text);

/// Returns whether the operation sends from one rank to another.
constexpr bool is_message(Operation operation) {
  return operation <= Operation::multi_pair;
}
/// Returns whether rank 0 calls, and rank 1 gives the memory and meets it in fences; both do both in
/// put_bidirectional.
constexpr bool is_one_sided(Operation operation) {
  return operation >= Operation::put && operation <= Operation::get_bandwidth;
}
/// Returns whether the operation is between two ranks.
constexpr bool is_of_two(Operation operation) {
  return is_message(operation) || is_one_sided(operation);
}
/// There and back, one message at a time.
constexpr bool is_ping_pong(Operation operation) {
  return operation <= Operation::partitioned;
}
constexpr bool is_bidirectional(Operation operation) {
  return operation == Operation::bidirectional || operation == Operation::put_bidirectional;
}
constexpr bool has_pairs(Operation operation) {
  return operation == Operation::multi_pair || operation == Operation::multi_latency;
}
constexpr bool has_window(Operation operation) {
  using enum Operation;
  return (is_message(operation) && !is_ping_pong(operation)) || operation == put_bandwidth ||
         operation == put_bidirectional || operation == get_bandwidth;
}
constexpr bool has_size(Operation operation) {
  return operation != Operation::barrier;
}
constexpr bool is_get(Operation operation) {
  return operation == Operation::get || operation == Operation::get_bandwidth;
}
/// Returns whether the call is of one integer of 8 bytes, whatever the others are of.
constexpr bool is_atomic(Operation operation) {
  return operation == Operation::fetch_and_op || operation == Operation::compare_and_swap;
}
/// Returns whether the caller gets the bytes that were in the target's memory before.
constexpr bool fetches(Operation operation) {
  return operation == Operation::get_accumulate || is_atomic(operation);
}
/// Returns whether a one-sided call depends on what is in the target's memory, and changes it.
constexpr bool updates(Operation operation) {
  return operation == Operation::accumulate || fetches(operation);
}
constexpr bool reduces(Operation operation) {
  using enum Operation;
  return operation == allreduce || operation == reduce || operation == reduce_scatter_block ||
         operation == reduce_scatter || operation == scan || operation == exscan || operation == accumulate ||
         operation == get_accumulate || operation == fetch_and_op;
}
constexpr bool is_of_neighbours(Operation operation) {
  return operation >= Operation::neighbor_allgather;
}
/// Returns whether a rank, or the root alone, gives a message for each rank, or each neighbour.
constexpr bool scatters(Operation operation) {
  using enum Operation;
  return operation == alltoall || operation == alltoallv || operation == alltoallw ||
         operation == reduce_scatter_block || operation == reduce_scatter || operation == scatter ||
         operation == scatterv || operation >= neighbor_alltoall;
}
/// Returns whether a rank, or the root alone, gets a message of each rank, or each neighbour.
constexpr bool gathers(Operation operation) {
  using enum Operation;
  return operation == allgather || operation == allgatherv || operation == alltoall || operation == alltoallv ||
         operation == alltoallw || operation == gather || operation == gatherv || is_of_neighbours(operation);
}
/// Returns whether the operation is measured with MPI_IN_PLACE too.
constexpr bool can_be_in_place(Operation operation) {
  using enum Operation;
  return (reduces(operation) && !is_one_sided(operation)) || operation == allgather || operation == allgatherv;
}

}  // namespace sennit::bench::mpi
