// The allreduce algorithms there are: what each can do, and how each is started.
#pragma once

#include <span>
#include <string_view>

#include "coll/allreduce_call.h"
#include "device/executor.h"

namespace sennit::coll {

class CopyEngines;

enum class Allreduce {
  one_shot_packets,
  two_shot_packets,
  two_shot,
  linear,
  recursive_doubling,
  ring,
  segmented_ring,
  reduce_scatter_allgather,
  hierarchical,
  copy_engines,
};

/// An algorithm with its settings: all that a rank needs to know to take part.
struct AllreducePlan {
  Allreduce algorithm = Allreduce::two_shot;
  unsigned blocks = 1;
  unsigned threads = device::kBlockThreads;  ///< of a block on a GPU
};

std::string_view name(Allreduce algorithm);  ///< "two_shot_packets"
std::span<const Allreduce> all_allreduce_algorithms();
/// Errors: invalid_argument, listing the names there are.
Result<Allreduce> parse_allreduce(std::string_view text);

/// Admission: the most bytes that the algorithm can reduce in one call with so many blocks.
std::uint64_t most_bytes(Allreduce algorithm, const Team& team, unsigned blocks);

/// Starts the algorithm on `lane`. Two or more ranks, `bytes` at least one and at most most_bytes(). `engines`: what
/// copy_engines needs, null for the others. Errors: invalid_argument, those of the lane.
Status launch(const AllreducePlan& plan, const AllreduceCall& call, const Team& team, CopyEngines* engines,
              device::Lane& lane);

/// Brings the code of all algorithms to the device: see Executor::load.
Status load_allreduce(device::Executor& executor, int device);

}  // namespace sennit::coll
