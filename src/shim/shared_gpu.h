// Finds GPUs that several processes use: there collectives are left to the real library.
#pragma once

#include "device/executor.h"

namespace sennit::shim {

/// Claims the device for this process. Errors: unsupported, naming the others, where other processes under sennit
/// have claimed it: sennit's kernels wait for each other on all GPUs at once, and those of two processes take turns.
/// (Measured on an H100 that four ranks share: an allreduce of 8 bytes takes 7 ms, and 15 µs through host memory.)
Status claim_gpu(const device::Executor& executor, int device);

}  // namespace sennit::shim
