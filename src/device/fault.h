// Turns the fault a block wrote down into an error for people.
#pragma once

#include "base/status.h"
#include "device/block.h"

namespace sennit::device {

/// ok when `fault` was never raised; else timed_out or aborted, naming operation, block, wait_id and counts.
Status describe(const Fault& fault);

}  // namespace sennit::device
