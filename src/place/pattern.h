// Traffic by name: grids of neighbours as stencil codes have them, and the groups of a training job.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "place/traffic.h"

namespace sennit::place {

/// Processes in a grid that send to their neighbours along every dimension. Dimensions are named x, y, z, t, …
struct Grid {
  std::vector<int> extents;  ///< of x, y, z, t, …
  bool wraps = true;         ///< the ends are neighbours; where a dimension has two, each sends to the other twice
  bool twice = true;         ///< a hypercube's process sends to its neighbour of a dimension of two once: false
  int heavy = -1;            ///< the dimension along which messages are `weight` times as long; -1: none
  double weight = 1;
  /// Dimensions from the slowest to the fastest in the numbering of ranks; empty: x the slowest, as MPI_Cart_create
  /// numbers the processes of (x, y, …).
  std::vector<int> order;
};

/// A message of `bytes` to every neighbour, `weight` times as long along the heavy dimension. Of a process, messages
/// come dimension by dimension, first to the one before it, then to the one behind it.
Traffic traffic_of(const Grid& grid, double bytes);

/// Groups of a training job, numbered as Megatron-LM does: tensor parallel ranks are the fastest, then data parallel
/// ones, then pipeline stages. Within a group of tp or dp ranks a ring allreduce of so many bytes; from a stage to
/// the next one, and back, a message.
struct Parallel {
  int tp = 1, pp = 1, dp = 1;
  double tp_bytes = 0, pp_bytes = 0, dp_bytes = 0;
};
Traffic traffic_of(const Parallel& parallel);

/// The pattern that `text` names, of messages of `bytes`:
///   2d-stencil:4x4  2d-torus:4x4  3d-torus:4x2x2,w=3  4d-hypercube  hypercube:16  ring:16  all-pairs:8
///   parallel:tp=2,pp=4,dp=2,tp_bytes=64M
/// Options of grids: w=3 (x is heavy; of a hypercube the last dimension), heavy=y, order=zxy (slowest first).
/// Errors: invalid_argument, saying what is wrong and what can be written.
Result<Traffic> parse_pattern(std::string_view text, double bytes);

}  // namespace sennit::place
