// What is measured: the tests of the OSU micro-benchmarks, by the names that MPI has for them.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"

namespace sennit::bench::mpi {

enum class Operation {
  latency,        ///< rank 0 → rank 1 → rank 0, one message at a time
  bandwidth,      ///< rank 0 → rank 1, a window of messages at a time
  bidirectional,  ///< both ways at once
  multi_pair,     ///< rank i → rank i + n / 2, all pairs at once
  put,            ///< of rank 0, into a window of rank 1, between two fences
  get,            ///< of rank 0, out of it
  accumulate,
  allreduce,
  iallreduce,  ///< with its wait at once
  reduce,
  bcast,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  reduce_scatter_block,
  gather,
  scatter,
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
constexpr bool has_window(Operation operation) {
  return is_message(operation) && operation != Operation::latency;
}
constexpr bool has_size(Operation operation) {
  return operation != Operation::barrier;
}
constexpr bool reduces(Operation operation) {
  using enum Operation;
  return operation == allreduce || operation == iallreduce || operation == reduce ||
         operation == reduce_scatter_block || operation == accumulate;
}
/// Whether a rank, or the root alone, gives a message for each rank.
constexpr bool scatters(Operation operation) {
  using enum Operation;
  return operation == alltoall || operation == alltoallv || operation == reduce_scatter_block || operation == scatter;
}
/// Whether a rank, or the root alone, gets a message of each rank.
constexpr bool gathers(Operation operation) {
  using enum Operation;
  return operation == allgather || operation == allgatherv || operation == alltoall || operation == alltoallv ||
         operation == gather;
}
/// Whether it is measured with MPI_IN_PLACE too.
constexpr bool can_be_in_place(Operation operation) {
  using enum Operation;
  return operation == allreduce || operation == iallreduce || operation == reduce || operation == allgather ||
         operation == allgatherv || operation == reduce_scatter_block;
}

}  // namespace sennit::bench::mpi
