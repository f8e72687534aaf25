// Translates NCCL's numbers to sennit's, and sennit's errors to NCCL's.
#pragma once

#include <optional>

#include "base/status.h"
#include "device/reduction.h"
#include "shim/nccl/abi/abi.h"

namespace sennit::shim::nccl {

/// Translates an ncclDataType_t; empty for a number that this version does not know.
std::optional<device::Type> type_of(int type);

/// Translates an ncclRedOp_t that every communicator has; empty for those that a program made, and for unknown ones:
/// a premultiplied sum has a factor on each rank, which that rank alone applies and knows.
std::optional<device::Operator> operator_of(int op);

/// Returns the ncclResult_t that NCCL would give for such an error.
int result_of(const Status& status);

}  // namespace sennit::shim::nccl
