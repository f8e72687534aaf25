// What a rank of a test job on GPUs does.
#pragma once

#include <vector>

#include "capi_rank.h"

namespace sennit::gpu {

std::vector<capi::Scenario> scenarios();
std::vector<capi::Scenario> collective_scenarios();
std::vector<capi::Scenario> graph_scenarios();
std::vector<capi::Scenario> partitioned_scenarios();

}  // namespace sennit::gpu
