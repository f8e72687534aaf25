// Compiles every block program of msg/ for GPUs.
#include "cuda/kernel.cuh"
#include "msg/batched_copy_kernel.h"

namespace sennit::cuda {

std::span<const device::Kernel> msg_kernels() {
  static const std::array kernels{kernel_of<msg::BatchedCopyKernel>()};
  return kernels;
}

}  // namespace sennit::cuda
