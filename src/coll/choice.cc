#include "coll/choice.h"

#include <algorithm>

#include "base/units.h"
#include "coll/candidates.h"

namespace sennit::coll {

namespace {

/// Threads that take turns on a few cores: a block each. A second one of each of 4 ranks on 2 cores made an allreduce
/// of 1 MiB take 530 instead of 370 µs, and helped at no size to 64 MiB.
Plan choose_on_host(const CallKey& which, const Team& team) {
  const Plan small{Algorithm::one_shot_packets, 1, 256};
  if (which.operation == Operation::allreduce &&
      which.bytes <= std::min(4 * KiB, most_bytes(which.operation, small, team)))
    return small;
  if (which.operation == Operation::allreduce && which.windows) return {Algorithm::two_shot_windows, 1, 256};
  if (which.operation == Operation::broadcast && which.bytes > 64 * KiB) return {Algorithm::chain, 1, 256};
  if (const Plan whole{Algorithm::two_shot_whole, 1, 256};
      which.operation == Operation::allreduce && which.bytes <= most_bytes(which.operation, whole, team))
    return whole;
  return {algorithms_of(which.operation).front(), 1, 256};
}

}  // namespace

Plan choose(const CallKey& which, const Team& team, device::Kind kind, const Figures& figures, unsigned most_blocks) {
  if (kind == device::Kind::host) return choose_on_host(which, team);
  std::vector<Plan> plans = candidates(which, team, kind, most_blocks);
  // Nowhere faster than two_shot when this was written (docs/tune/algorithms/copy_engines.md): taken where it was
  // tuned.
  std::erase_if(plans, [](const Plan& plan) { return plan.algorithm == Algorithm::copy_engines; });
  // one_shot_whole is no faster than packets between four GPUs, by more blocks (docs/tune/algorithms/whole.md): taken
  // where it was tuned.
  if (team.size > 2)
    std::erase_if(plans, [](const Plan& plan) { return plan.algorithm == Algorithm::one_shot_whole; });
  return *std::ranges::min_element(plans, {},
                                   [&](const Plan& plan) { return predict_us(which, plan, team, figures); });
}

Status ModelChooser::meet(node::Node& node, const Team& team, std::uint64_t /*scratch_bytes*/) {
  team_ = team;
  kind_ = node.executor().kind();
  return {};
}

Plan ModelChooser::plan(const CallKey& which) {
  const CallKey bucket = bucket_of(which);
  const auto [found, is_new] = plans_.try_emplace(bucket);
  if (is_new) found->second = choose(bucket, team_, kind_, figures_);
  return found->second;
}

}  // namespace sennit::coll
