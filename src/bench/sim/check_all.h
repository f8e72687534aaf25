// Every algorithm × numbers of ranks × sizes, proved right: `sennit check`.
#pragma once

#include "bench/program.h"
#include "coll/team.h"

namespace sennit::bench {

struct CheckAll {
  int most_ranks = coll::kMostRanks;
  bool progress = false;
};

/// Prints how many jobs were checked and what was found. Exit::failed where anything was.
Result<Exit> check_all(const CheckAll& asked);

}  // namespace sennit::bench
