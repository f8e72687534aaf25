// GPU memory across processes: the driver's IPC handles for cudaMalloc, open files for cuMemCreate.
#pragma once

#include <string>

#include "base/status.h"
#include "device/memory.h"

namespace sennit::device {

/// Errors: unsupported when the allocation cannot be shared (a cudaMallocAsync pool without handle types, managed or
/// host memory, a cuMemCreate handle made without one, SENNIT_IPC=0); names which.
Result<Shareable> share_cuda(const void* pointer, const Location& location, const std::string& uuid);

/// At least `bytes` on `device`, by cuMemCreate: the kind that travels as an open file. Errors: unsupported where the
/// driver cannot; out_of_memory.
Result<Memory> create_exportable(int device, std::size_t bytes);

/// Maps in the context of `device`, for lanes of that device.
Result<Memory> map_cuda(const Shareable& shareable, int device);

}  // namespace sennit::device
