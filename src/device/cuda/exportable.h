// Allocates memory as cuMemCreate gives it (PyTorch's expandable segments): the kind that travels as an open file.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "device/memory.h"

namespace sennit::device {

/// Allocates at least `bytes` on `device`, exportable as a file descriptor. Errors: unsupported where the driver
/// cannot; out_of_memory.
Result<Memory> create_exportable(int device, std::size_t bytes);

}  // namespace sennit::device
