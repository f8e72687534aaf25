// Lists all plans that a case could take.
#pragma once

#include <vector>

#include "coll/algorithms.h"
#include "coll/call_key.h"

namespace sennit::coll {

/// Returns whether a plan fits beside other work, with at most `most_blocks` blocks of half an SM each. Wide blocks
/// with packets, whose threads have twice the registers, take a whole SM.
constexpr bool fits(const Plan& plan, unsigned most_blocks) {
  constexpr unsigned kHalf = device::kBlockThreads / 2;
  const bool takes_an_sm = sends_packets(plan.algorithm) && plan.threads > kHalf;
  return plan.blocks <= most_blocks && !(takes_an_sm && most_blocks < kMostBlocks);
}

/// Returns every algorithm of the operation with every sensible number of blocks and threads that admits the case and
/// fits(); never empty. Pure, and the same on every rank.
std::vector<Plan> candidates(const CallKey& which, const Team& team, device::Kind kind,
                             unsigned most_blocks = kMostBlocks);

/// Returns whether the plan has enough slots for the case in a communicator that keeps blocks, and their slots, for
/// messages: see Collectives::keep_blocks_for_messages().
bool has_room_beside_messages(const CallKey& which, const Plan& plan, Team team);

/// Returns the most blocks that candidates of the algorithm have.
unsigned most_candidate_blocks(Algorithm algorithm, device::Kind kind);

}  // namespace sennit::coll
