// Plays the allreduces that the thesis and the IEEE Micro paper compare (Temuçin 2021, chapter 5; Temuçin et al.
// 2022), each as its authors describe it.
#pragma once

#include "sim/messages.h"
#include "sim/papers/multi_path_put.h"

namespace sennit::sim {

struct MpiCosts {
  double message_us = 13;      ///< of a message between GPUs: rendezvous, and a copy asked for
  double network_us = 14;      ///< of one to another node: what NCCL counts there
  double kernel_us = 10;       ///< of a kernel that adds, and of waiting for it: assumed
  double kernel_gbps = 200;    ///< that it adds: four times as much goes through a V100's memory, of 900 GB/s
  double host_gbps = 10;       ///< that a process copies or adds in host memory
  double host_copy_us = 10;    ///< of a copy between a GPU and pageable memory: assumed
  double host_message_us = 2;  ///< of a message between processes: assumed
  CopyCosts put;
};

/// In µs, of nodes of four GPUs, two a socket. Errors: as play().
class MpiAllreduce {
 public:
  MpiAllreduce(const Fabric& fabric, const MpiCosts& costs);

  /// Open MPI as it was: every vector to host memory, Open MPI's ring there, and back.
  Result<double> on_hosts(double bytes) const;
  /// Between GPUs, added by kernels, in the algorithm that Open MPI's table for processors takes (4.0,
  /// coll_tuned_decision_fixed.c): recursive doubling below 10 KB, a ring up to 1 MiB a rank, a segmented one beyond.
  Result<double> by_kernels(double bytes) const;
  /// The fastest of those the thesis tried (section 5.3.2).
  Result<double> tuned(double bytes) const;
  /// Algorithm 5.1: to the leader of the socket, between leaders, and back, in chunks; within sockets by multi-path
  /// puts of this share and so many streams.
  Result<double> hierarchical(double bytes, int chunks, double host_share, int streams) const;
  /// The flat one of the IEEE Micro paper: a quarter from everybody to everybody, and back, in chunks.
  Result<double> flat(double bytes, int chunks) const;
  /// The same over several nodes, as the IEEE Micro paper has it: leaders halve the sum between them, each half goes
  /// round the nodes in Open MPI's ring, and back. Nothing overlaps.
  Result<double> over_nodes(double bytes) const;
  /// NCCL's ring, at the rates that it counts on itself (src/graph/topo.h): `ring_gbps` of what leaves a GPU.
  static double nccl_ring(double bytes, double ring_gbps, int ranks = 4);

 private:
  Result<double> messages(const Rounds& rounds, int chunks) const;

  const Fabric& fabric_;
  MpiCosts costs_;
  Ranks ranks_;
  std::vector<int> gpus_, hosts_;  // of each rank
};

}  // namespace sennit::sim
