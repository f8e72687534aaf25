#include "coll/candidates.h"

namespace sennit::coll {

namespace {

constexpr unsigned kNarrow = 256, kWide = device::kBlockThreads;

/// A plan that nothing but the number of ranks decides, for operations where no rank knows how much all others send.
std::vector<Plan> fixed(const Case& which, device::Kind kind) {
  const bool on_host = kind == device::Kind::host;
  if (which.operation == Operation::all_to_all_v)
    return {{Algorithm::direct, on_host ? 1 : kMostBlocks, kNarrow}};
  std::vector<Plan> plans;
  for (const Algorithm algorithm : algorithms_of(which.operation)) plans.push_back({algorithm, 1, 32});
  return plans;
}

/// With 256 blocks, of which every thread polls one packet, a graph of such calls took 6 µs a call in most runs and 17
/// in some; with 128 it takes 6.4 in all. Where threads have to reduce as well it was never seen.
bool crowds(Operation operation, const Plan& plan) {
  const bool polls = plan.algorithm == Algorithm::packets && operation != Operation::reduce_scatter;
  return polls && plan.blocks > kMostBlocks / 2;
}

}  // namespace

std::vector<Plan> candidates(const Case& which, const Team& team, device::Kind kind) {
  if (which.operation == Operation::all_to_all_v || which.operation == Operation::barrier) return fixed(which, kind);
  // On the host blocks are threads on a few cores, and a block has one thread.
  const bool on_host = kind == device::Kind::host;
  const unsigned most = on_host ? 4 : kMostBlocks;
  std::vector<Plan> plans;
  for (const Algorithm algorithm : algorithms_of(which.operation))
    for (unsigned blocks = 1; blocks <= most; blocks *= 2)
      for (const unsigned threads : {kNarrow, kWide}) {
        const Plan plan{algorithm, blocks, threads};
        if (on_host && threads != kNarrow) continue;
        if (!crowds(which.operation, plan) && which.bytes <= most_bytes(which.operation, plan, team))
          plans.push_back(plan);
      }
  return plans;
}

}  // namespace sennit::coll
