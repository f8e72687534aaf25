// Finds where the traffic of a map comes from.
#pragma once

#include <string>
#include <vector>

#include "bench/map/document.h"
#include "place/read_traffic.h"

namespace sennit::bench {

struct TrafficSource {
  place::Traffic traffic{0};
  std::string from;                  ///< "pattern 2d-torus:4x4, messages of 1 MiB", "profile of 16 ranks"
  std::vector<std::string> assumed;  ///< "MPI_Allreduce by a ring", in words
  std::vector<place::Bound> bound;   ///< of each rank, where a profile says it
  bool only_collectives = false;     ///< of a profile without messages between two ranks
};

/// Errors: invalid_argument (no source, several; what the parsers say).
Result<TrafficSource> source_of(const MapAsked& asked);

}  // namespace sennit::bench
