// Gives processes other ranks where the program lets MPI reorder them: who is where, what their ranks send each
// other, and a communicator in the order that place/topology.h finds. It never decides for one rank alone.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "place/topology.h"
#include "shim/mpi/abi/mpi.h"

namespace sennit::shim::mpi {

/// What each rank told of its neighbours, by rank.
using ToldByRank = std::vector<std::vector<int>>;

struct Reordered {
  int rank = 0;  ///< of this process, in the order found
  place::Order order;
  ToldByRank told;
};

/// Makes traffic of what ranks told; no value where that is no topology.
using TrafficOf = std::function<std::optional<place::Traffic>(const ToldByRank&, int processes)>;

/// Collective over `comm`: `told` is this rank's part. Rank 0 finds the order, by the machine that `machine` gives
/// it, which may be null. No value, on every rank alike: the order as it is, or an error of the MPI's.
std::optional<Reordered> reorder(const Mpi& mpi, Handle comm, const std::vector<int>& told, const TrafficOf& traffic,
                                 const std::function<std::optional<machine::Machine>()>& machine);

/// Returns where this process is: its host, or SENNIT_NODE; its rank there as its launcher says.
place::Process own_process();

}  // namespace sennit::shim::mpi
