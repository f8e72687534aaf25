// What is measured: the tests of the OSU micro-benchmarks, by the names that MPI has for them.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"

namespace sennit::bench::mpi {

enum class Operation {
  latency,        ///< rank 0 → rank 1 → rank 0, one message at a time
  persistent,     ///< the same, of requests that are made once and started for each message
  partitioned,    ///< the same, of requests whose message is given in parts
  bandwidth,      ///< rank 0 → rank 1, a window of messages at a time
  bidirectional,  ///< both ways at once
  multi_pair,     ///< rank i → rank i + n / 2, all pairs at once
  put,            ///< of rank 0, into a window of rank 1, between two fences
  get,            ///< of rank 0, out of it
  accumulate,
  allreduce,
  iallreduce,      ///< with its wait at once
  allreduce_init,  ///< started and waited for; made once
  reduce,
  bcast,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  reduce_scatter_block,
  reduce_scatter,
  gather,
  gatherv,
  scatter,
  scatterv,
  scan,
  exscan,
  barrier,
};

std::string_view name(Operation operation);
std::span<const Operation> all_operations();
/// Errors: invalid_argument names those there are.
Result<Operation> parse_operation(std::string_view text);

/// From one rank to another.
constexpr bool is_message(Operation operation) {
  return operation <= Operation::multi_pair;
}
/// Of rank 0 alone, where rank 1 gives the memory and meets it in fences.
constexpr bool is_one_sided(Operation operation) {
  using enum Operation;
  return operation == put || operation == get || operation == accumulate;
}
/// Between two ranks.
constexpr bool is_of_two(Operation operation) {
  return is_message(operation) || is_one_sided(operation);
}
/// There and back, one message at a time.
constexpr bool is_ping_pong(Operation operation) {
  using enum Operation;
  return operation == latency || operation == persistent || operation == partitioned;
}
constexpr bool has_window(Operation operation) {
  return is_message(operation) && !is_ping_pong(operation);
}
constexpr bool has_size(Operation operation) {
  return operation != Operation::barrier;
}
/// An allreduce, however it is called.
constexpr bool reduces_everywhere(Operation operation) {
  using enum Operation;
  return operation == allreduce || operation == iallreduce || operation == allreduce_init;
}
constexpr bool reduces(Operation operation) {
  using enum Operation;
  return reduces_everywhere(operation) || operation == reduce || operation == reduce_scatter_block ||
         operation == reduce_scatter || operation == scan || operation == exscan || operation == accumulate;
}
/// Whether an MPI says how many elements each rank has.
constexpr bool has_counts(Operation operation) {
  using enum Operation;
  return operation == allgatherv || operation == alltoallv || operation == reduce_scatter || operation == gatherv ||
         operation == scatterv;
}
/// Whether a rank, or the root alone, gives a message for each rank.
constexpr bool scatters(Operation operation) {
  using enum Operation;
  return operation == alltoall || operation == alltoallv || operation == reduce_scatter_block ||
         operation == reduce_scatter || operation == scatter || operation == scatterv;
}
/// Whether a rank, or the root alone, gets a message of each rank.
constexpr bool gathers(Operation operation) {
  using enum Operation;
  return operation == allgather || operation == allgatherv || operation == alltoall || operation == alltoallv ||
         operation == gather || operation == gatherv;
}
/// Whether it is measured with MPI_IN_PLACE too.
constexpr bool can_be_in_place(Operation operation) {
  using enum Operation;
  return (reduces(operation) && operation != accumulate) || operation == allgather || operation == allgatherv;
}

}  // namespace sennit::bench::mpi
