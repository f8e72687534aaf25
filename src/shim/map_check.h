// Tells whether each rank uses the GPU that a map gives it: `sennit run --map` can only say in which order a program
// sees the GPUs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sennit::shim {

/// Returns the UUIDs that a map gives the ranks of this node, by local rank, of SENNIT_MAP; empty: there is no map.
std::vector<std::string> asked_gpus();

struct GpuOfRank {
  std::string asked;  ///< UUID; empty: the map has no such rank
  std::string used;   ///< UUID; empty: none is known
};

/// Returns "map: 16 of 16 ranks as asked", or which rank uses another GPU, and what to do. `unknown`: what is said of
/// a rank whose GPU is not known. Pure.
std::string judge_map(std::span<const GpuOfRank> ranks, std::string_view unknown);

}  // namespace sennit::shim
