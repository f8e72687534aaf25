#include "coll/candidates.h"

namespace sennit::coll {

namespace {

constexpr unsigned kNarrow = 256, kWide = device::kBlockThreads;

/// A plan that nothing but the number of ranks decides, for operations where no rank knows how much all others send.
std::vector<Plan> fixed(const Case& which, device::Kind kind) {
  const bool on_host = kind == device::Kind::host;
  if (which.operation == Operation::all_to_all_v) return {{Algorithm::direct, on_host ? 1 : kMostBlocks, kNarrow}};
  std::vector<Plan> plans;
  for (const Algorithm algorithm : algorithms_of(which.operation)) plans.push_back({algorithm, 1, 32});
  return plans;
}

}  // namespace

unsigned most_candidate_blocks(Operation operation, Algorithm algorithm, device::Kind kind) {
  if (kind == device::Kind::host) return 4;  // blocks are threads on a few cores
  // Where threads only poll packets and copy them, twice the blocks gain nothing that was measured on 2 or 4 × H200.
  const bool polls = algorithm == Algorithm::packets && operation != Operation::reduce_scatter;
  return polls ? kMostBlocks / 2 : kMostBlocks;
}

std::vector<Plan> candidates(const Case& which, const Team& team, device::Kind kind) {
  if (which.operation == Operation::all_to_all_v || which.operation == Operation::barrier) return fixed(which, kind);
  const bool on_host = kind == device::Kind::host;  // a block has one thread
  std::vector<Plan> plans;
  for (const Algorithm algorithm : algorithms_of(which.operation))
    for (unsigned blocks = 1; blocks <= most_candidate_blocks(which.operation, algorithm, kind); blocks *= 2)
      for (const unsigned threads : {kNarrow, kWide}) {
        const Plan plan{algorithm, blocks, threads};
        if (on_host && threads != kNarrow) continue;
        if (which.bytes <= most_bytes(which.operation, plan, team)) plans.push_back(plan);
      }
  return plans;
}

}  // namespace sennit::coll
