// Opens the cuda executor over the kernels of a library.
#pragma once

#include <memory>
#include <span>

#include "device/cuda/kernel.h"
#include "device/executor.h"

namespace sennit::device {

/// As open_cuda_executor() of device/executor.h; `kernels` outlive the executor.
Result<std::shared_ptr<Executor>> open_cuda_executor(int own_thread_of, std::span<const Kernel> kernels);

}  // namespace sennit::device
