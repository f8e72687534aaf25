// Applies what was tuned for one pair of devices to another pair that is linked alike.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.h"
#include "path/tuned.h"

namespace sennit::bench::tune {

/// Returns whether two ordered pairs are joined alike: by as many candidate routes, and a direct one of the same rate
/// to within 5 %.
bool alike(const machine::Machine& machine, const std::string& from, const std::string& to,
           const std::string& other_from, const std::string& other_to);

/// `entry` for other ends: relays through GPUs become relays through the GPUs that are not ends there, in order.
path::TunedPut retarget(const path::TunedPut& entry, const std::string& from, const std::string& to,
                        const std::vector<std::string>& gpus);

}  // namespace sennit::bench::tune
