// Describes the handshake of a communicator's ranks: what they tell each other in its first collective call.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/mpi/abi/handle.h"
#include "shim/switches.h"

namespace sennit::shim::mpi {

/// Holds what a rank tells the others of a communicator.
struct CommInfo {
  std::uint64_t key = 0;
  int slot = -1;
  Between between = Between::rails;
  bool lost = false;  ///< a rank, or one by whom control messages go from node to node
};

/// Holds what MPI works on until all ranks have given theirs.
struct Handshake {
  CommInfo mine;
  std::vector<CommInfo> all;
  Handle request = 0;
  int code = 0;  ///< MPI's
};

/// Stands for MPI's code where a request will never be done: that one the real function gives.
inline constexpr int kNeverDone = -1;
inline constexpr char kBeingFreed[] = "communicator that is being freed";

}  // namespace sennit::shim::mpi
