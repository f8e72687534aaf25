// Sets our maps beside Scotch's and the best of all permutations, on 308 problems that were not chosen one by one.
#pragma once

#include <string>

#include "bench/program.h"

namespace sennit::bench {

struct CasesAsked {
  std::string scotch;  ///< file of libscotch; empty: the system's
  int each = 11;       ///< problems of a kind of machine and of traffic
  bool progress = false;
};

/// Prints the document of kind "map cases". Errors: none; without Scotch its columns are empty.
Result<Exit> print_cases(const CasesAsked& asked);

}  // namespace sennit::bench
