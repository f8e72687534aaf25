#include "coll/candidates.h"

#include <algorithm>
#include <bit>

#include "coll/cost.h"

namespace sennit::coll {

namespace {

constexpr unsigned kNarrow = 256, kWide = device::kBlockThreads;

/// Returns the plan that only the number of ranks decides, for operations where no rank knows how much all others
/// send.
std::vector<Plan> fixed(const CallKey& which, device::Kind kind, unsigned most_blocks) {
  const unsigned blocks = kind == device::Kind::host ? 1 : std::bit_floor(most_blocks);
  if (which.operation == Operation::all_to_all_v) return {{Algorithm::direct, blocks, kNarrow}};
  std::vector<Plan> plans;
  for (const Algorithm algorithm : algorithms_of(which.operation)) plans.push_back({algorithm, 1, 32});
  return plans;
}

/// Blocks that send less than a warp's packets to a peer only add to those that poll (4 × H200: allgather of 4 KiB a
/// rank by 16 blocks 3.4, by 32 3.9 µs); and blocks that meet over less than 4 KiB (allreduce of 256 KiB between
/// windows by 16 blocks 7.0, by 128 8.7 µs). Defaults.
bool has_blocks_to_spare(const CallKey& which, const Plan& plan, const Team& team) {
  constexpr std::uint64_t kWarp = 32 * device::kPacketBytes, kMeeting = 4096;
  const Work work = work_of(which, plan.algorithm, team.size);
  const std::uint64_t least = work.packets ? kWarp : work.meets && work.by_engines == 0 ? kMeeting : 0;
  return plan.blocks > 1 && work.part < static_cast<double>(plan.blocks * least);
}

/// Engines do everything.
bool has_no_blocks(const CallKey& which, const Plan& plan, const Team& team) {
  const Work work = work_of(which, plan.algorithm, team.size);
  return work.by_engines > 0 && work.sent == 0;
}

}  // namespace

unsigned most_candidate_blocks(Algorithm algorithm, device::Kind kind) {
  if (kind == device::Kind::host) return 4;  // blocks are threads on a few cores
  // Threads with packets have so many registers that no more blocks of 512 are resident together.
  return sends_packets(algorithm) ? kMostBlocks / 2 : kMostBlocks;
}

bool has_room_beside_messages(const CallKey& which, const Plan& plan, Team team) {
  team.shape.blocks = kBlocksBesideMessages;
  return plan.blocks <= team.shape.blocks && which.bytes <= most_bytes(which.operation, plan, team);
}

std::vector<Plan> candidates(const CallKey& which, const Team& team, device::Kind kind, unsigned most_blocks) {
  if (which.operation == Operation::all_to_all_v || which.operation == Operation::barrier)
    return fixed(which, kind, most_blocks);
  const bool on_host = kind == device::Kind::host;  // a block has one thread
  // A receive often waits beside a program's own kernels, which need the SMs. A default: more blocks gain only from
  // 4 MiB on (2 x H200, a ring shift of 1 MiB: NCCL 14.7 µs, 32 blocks 15.5, 64 blocks 11.3, 128 blocks 11.2).
  const unsigned most = std::min(most_blocks, which.operation == Operation::sendrecv ? kMostBlocks / 4 : kMostBlocks);
  std::vector<Plan> plans;
  for (const Algorithm algorithm : algorithms_of(which.operation)) {
    if (needs_windows(algorithm) && !which.windows) continue;
    for (unsigned blocks = 1; blocks <= std::min(most, most_candidate_blocks(algorithm, kind)); blocks *= 2)
      for (const unsigned threads : {kNarrow, kWide}) {
        const Plan plan{algorithm, blocks, threads};
        if (on_host ? threads != kNarrow : has_blocks_to_spare(which, plan, team)) continue;
        if (!fits(plan, most_blocks)) continue;
        if (has_no_blocks(which, plan, team) && (blocks > 1 || threads != kNarrow)) continue;
        if (which.bytes <= most_bytes(which.operation, plan, team)) plans.push_back(plan);
      }
  }
  return plans;
}

}  // namespace sennit::coll
