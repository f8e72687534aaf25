// Lists the algorithms of each operation, says what each can do, and starts them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coll/exchange.h"
#include "coll/operation.h"
#include "coll/peer_pointers.h"
#include "coll/reduce_call.h"
#include "device/executor.h"

namespace sennit::coll {

class CopyEngines;

/// A collective as one rank calls it.
struct Call {
  Operation operation = Operation::allreduce;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  /// Counts the message; where messages of several ranks lie side by side, one of them. All-to-all-v: 0, `messages`
  /// has its lengths.
  std::uint64_t bytes = 0;
  int root = kEveryRank;                             ///< of operations that have one
  device::Reduction reduction;                       ///< of operations that reduce
  Exchange messages;                                 ///< of all-to-all-v
  std::optional<PeerPointers> reach = std::nullopt;  ///< where the buffers are in symmetric windows on all ranks
};

/// An algorithm with its settings: all that a rank needs to know to take part, and the same on all of them.
struct Plan {
  Algorithm algorithm = Algorithm::two_shot;
  unsigned blocks = 1;
  unsigned threads = device::kBlockThreads;  ///< of a block on a GPU

  bool operator==(const Plan&) const = default;
};
std::string name(const Plan& plan);  ///< "two_shot 64x256"
/// Errors: invalid_argument (not written so; those of parse_algorithm()).
Result<Plan> parse_plan(Operation operation, std::string_view text);

/// Lists the algorithms of the operation; the first is without limits.
std::vector<Algorithm> algorithms_of(Operation operation);
/// Errors: invalid_argument, listing the names there are.
Result<Algorithm> parse_algorithm(Operation operation, std::string_view text);

/// Admission: the largest Call::bytes that the plan can do. 0: there is no such algorithm for the operation.
std::uint64_t most_bytes(Operation operation, const Plan& plan, const Team& team);

/// Starts the plan on `lane`. Two or more ranks, `bytes` at most most_bytes(). `engines`: for
/// algorithms that use them, null for the others. Algorithms that need windows are told the call's reach. Errors:
/// invalid_argument, those of the lane.
Status launch(const Plan& plan, const Call& call, const Team& team, CopyEngines* engines, device::Lane& lane);

/// Brings the code of all algorithms to the device: see Executor::load.
Status load_algorithms(device::Executor& executor, int device);

}  // namespace sennit::coll
