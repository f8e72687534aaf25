// Proves every algorithm right, for numbers of ranks and sizes: `sennit check`.
#pragma once

#include <string>

#include "bench/program.h"
#include "coll/team.h"

namespace sennit::bench {

struct CheckAll {
  std::string file;  ///< a schedule to prove instead; empty: every algorithm
  int most_ranks = coll::kMostRanks;
  bool progress = false;
};

/// Prints how many jobs were checked and what was found. Exit::failed where anything was.
Result<Exit> check_all(const CheckAll& asked);

}  // namespace sennit::bench
