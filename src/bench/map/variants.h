// Makes the maps that `sennit bench patterns` measures beside each other: as it is, by each metric, at random, the
// worst.
#pragma once

#include <string>
#include <vector>

#include "bench/program.h"

namespace sennit::bench {

struct VariantsAsked {
  std::vector<std::string> patterns, sizes, costs;
  std::string machine;
  int ranks_per_node = 0;  ///< so many ranks of this machine are taken for a node; 0: all of them
};

/// Prints the document of kind "map variants": of each pattern and size the maps, none twice, each with all its
/// names, as it is first. Errors: those of the command line and of GPUs that no links join.
Result<Exit> print_variants(const VariantsAsked& asked);

}  // namespace sennit::bench
