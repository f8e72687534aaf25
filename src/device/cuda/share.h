// Shares GPU memory across processes: the driver's IPC handles for cudaMalloc, open files for cuMemCreate.
#pragma once

#include <string>

#include "base/status.h"
#include "device/memory.h"

namespace sennit::device {

/// Errors: unsupported when the allocation cannot be shared (a cudaMallocAsync pool without handle types, managed or
/// host memory, a cuMemCreate handle made without one, SENNIT_IPC=0); names which.
Result<Shareable> share_cuda(const void* pointer, const Location& location, const std::string& uuid);

/// Maps in the context of `device`, for lanes of that device.
Result<Memory> map_cuda(const Shareable& shareable, int device);

}  // namespace sennit::device
