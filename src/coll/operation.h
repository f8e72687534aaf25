// Names the collective operations, and the algorithms for them, by the field's names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"

namespace sennit::coll {

enum class Operation : std::uint8_t {
  allreduce,
  reduce_scatter,
  allgather,
  reduce,
  broadcast,
  gather,
  scatter,
  all_to_all,
  all_to_all_v,
  sendrecv,  ///< every rank sends the next one a message: what messages between two ranks are measured by
  barrier,
};
inline constexpr int kOperations = 11;

/// A name may stand for an algorithm of several operations; algorithms.h says which there are.
enum class Algorithm : std::uint8_t {
  packets,
  one_shot_packets,
  two_shot_packets,
  direct,
  two_shot,
  direct_loads,
  two_shot_loads,
  two_shot_whole,
  direct_whole,
  two_shot_windows,
  direct_windows,
  one_shot,
  one_shot_loads,
  one_shot_whole,
  linear,
  recursive_doubling,
  ring,
  segmented_ring,
  reduce_scatter_allgather,
  hierarchical,
  copy_engines,
  copy_engines_windows,
  chain,
  tree,
  scatter_allgather,
  dissemination,
  knomial_2,
  knomial_4,
  knomial_8,
};
inline constexpr int kAlgorithms = 29;

/// Returns whether data travels with its tags, as packets: device/packet.h.
constexpr bool sends_packets(Algorithm algorithm) {
  return algorithm == Algorithm::packets || algorithm == Algorithm::one_shot_packets ||
         algorithm == Algorithm::two_shot_packets;
}

/// Returns whether the algorithm works straight on the buffers of all ranks, which must lie in symmetric windows:
/// windows.h.
constexpr bool needs_windows(Algorithm algorithm) {
  return algorithm == Algorithm::two_shot_windows || algorithm == Algorithm::direct_windows ||
         algorithm == Algorithm::copy_engines_windows;
}
/// Returns whether copy engines carry the algorithm's bytes.
constexpr bool uses_engines(Algorithm algorithm) {
  return algorithm == Algorithm::copy_engines || algorithm == Algorithm::copy_engines_windows;
}

std::string_view name(Operation operation);  ///< "reduce_scatter"
std::string_view name(Algorithm algorithm);  ///< "two_shot_packets"
std::span<const Operation> all_operations();
/// Parses a name; also "reduce-scatter", "alltoall" and "bcast". Errors: invalid_argument, listing the names there
/// are.
Result<Operation> parse_operation(std::string_view text);

constexpr bool reduces(Operation operation) {
  return operation == Operation::allreduce || operation == Operation::reduce_scatter ||
         operation == Operation::reduce;
}
constexpr bool has_root(Operation operation) {
  return operation == Operation::reduce || operation == Operation::broadcast || operation == Operation::gather ||
         operation == Operation::scatter;
}
/// Returns whether some rank's output has a message from each rank; scatters(): some rank's input has one for each.
constexpr bool gathers(Operation operation) {
  return operation == Operation::allgather || operation == Operation::gather || operation == Operation::all_to_all ||
         operation == Operation::all_to_all_v;
}
constexpr bool scatters(Operation operation) {
  return operation == Operation::reduce_scatter || operation == Operation::scatter ||
         operation == Operation::all_to_all || operation == Operation::all_to_all_v;
}
/// Returns whether the output may be the input. Where messages go both ways, each rank's own one alone may stay where
/// it is.
constexpr bool works_in_place(Operation operation) {
  return operation != Operation::all_to_all && operation != Operation::all_to_all_v &&
         operation != Operation::sendrecv;
}
/// Returns whether a rank has an input; takes(): whether it has an output.
constexpr bool gives(Operation operation, bool is_root) {
  const bool root_alone = operation == Operation::broadcast || operation == Operation::scatter;
  return operation != Operation::barrier && (is_root || !root_alone);
}
constexpr bool takes(Operation operation, bool is_root) {
  const bool root_alone = operation == Operation::reduce || operation == Operation::gather;
  return operation != Operation::barrier && (is_root || !root_alone);
}

}  // namespace sennit::coll
