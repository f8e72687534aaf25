// Writes a map of ranks to GPUs as the document that `sennit map` reads: docs/use/map.md, schemas/map.schema.json.
#pragma once

#include <string>
#include <vector>

#include "bench/program.h"
#include "place/solve.h"

namespace sennit::bench {

struct MapAsked {
  std::string pattern, profile, size = "1M", machine, metric = "contention", scotch;
  std::vector<std::string> matrix, gpus, pins, solvers, costs;
  place::Slots slots;
  bool keep_sockets = false;  ///< ranks of a profile stay on GPUs of the socket that their launcher bound them to
  std::uint64_t proof_work = place::kProofWork;
};

/// Prints the document of kind "map". Errors: those of the command line; unsupported (GPUs that no links join, nodes
/// without NICs).
Result<Exit> print_map(const MapAsked& asked);

}  // namespace sennit::bench
