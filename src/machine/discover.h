// Discovers this machine, as the driver and the kernel describe it now.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "machine/assemble.h"
#include "machine/machine.h"

namespace sennit::machine {

/// Reads NVML, /sys and hwloc and assembles them. Takes some milliseconds, with NVML up to a second.
Machine discover(const std::vector<GpuExtra>& extras = {});

/// Returns all readings but NVML's and extras.
Readings read_beside_nvml();

/// Makes the machine of readings with GPUs. Errors: unsupported where NVML shows none.
Result<Machine> machine_of_gpus(const Readings& readings);

/// Makes the machine of an executor: "cuda" discovers GPUs (errors: unsupported when there is none), "host" gives
/// host_machine() with SENNIT_HOST_DEVICES devices, "auto" is cuda where NVML shows a GPU and host elsewhere. An
/// empty name reads SENNIT_EXECUTOR. Errors: invalid_argument for other names.
Result<Machine> this_machine(std::string_view executor, const std::vector<GpuExtra>& extras = {});

/// Today as an ISO 8601 day, UTC.
std::string today();

}  // namespace sennit::machine
