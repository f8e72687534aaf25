// All plans that a case could take.
#pragma once

#include <vector>

#include "coll/algorithms.h"
#include "coll/case.h"

namespace sennit::coll {

/// Every algorithm of the operation with every sensible number of blocks, `most_blocks` at most, and threads that
/// admits the case; never empty. Pure, and the same on every rank.
std::vector<Plan> candidates(const Case& which, const Team& team, device::Kind kind,
                             unsigned most_blocks = kMostBlocks);

/// The most blocks that candidates of the algorithm have.
unsigned most_candidate_blocks(Algorithm algorithm, device::Kind kind);

}  // namespace sennit::coll
