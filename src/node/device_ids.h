// This file maps the devices of a process to those of a machine's document.
#pragma once

#include <string>
#include <vector>

#include "device/executor.h"
#include "machine/machine.h"

namespace sennit::node {

/// Returns the names in `machine` of the executor's devices, by index; empty for one that it does not have. Errors:
/// invalid_argument where it has no device of this process.
Result<std::vector<std::string>> device_ids(const device::Executor& executor, const machine::Machine& machine);

}  // namespace sennit::node
