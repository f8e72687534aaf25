// Says how the ranks of a communicator lie on nodes; equal for all of them.
#pragma once

#include <span>
#include <vector>

#include "net/hierarchical.h"

namespace sennit::shim::mpi {

struct Nodes {
  int count = 1;
  int own = 0;                     ///< this rank's node
  bool alike = true;               ///< all have as many ranks
  std::vector<net::Place> places;  ///< of every rank of the communicator
  std::vector<int> speakers;       ///< the rank of MPI_COMM_WORLD that leads each node: its first

  const net::Place& place(int rank) const { return places[static_cast<std::size_t>(rank)]; }
};

/// `world_ranks`: of the communicator's ranks; `leaders`: what names each one's node; `rank`: this one. Nodes and the
/// ranks on them are numbered in the communicator's order. Pure.
Nodes nodes_of(std::span<const int> world_ranks, std::span<const int> leaders, int rank);

}  // namespace sennit::shim::mpi
