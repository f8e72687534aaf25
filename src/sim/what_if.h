// Makes a machine with other links than it has: "what if NVLink were twice as fast?"
#pragma once

#include <string_view>

#include "base/status.h"
#include "machine/machine.h"

namespace sennit::sim {

/// Changes the machine as `text` says: WHICH.bandwidth=VALUE, where WHICH is a kind of link (nvlink, pcie, socket,
/// network), or a link by its two ends ("gpu0-gpu1"), and VALUE a factor ("2x") or GB/s each way ("50"). What was
/// measured of whole ways no longer holds, and is dropped. Errors: invalid_argument, naming what there is.
Status apply_what_if(machine::Machine& machine, std::string_view text);

}  // namespace sennit::sim
