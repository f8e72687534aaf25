// Compiles every block program of msg/ for GPUs.
#include "device/cuda/block.cuh"
#include "msg/batched_copy_kernel.h"

namespace sennit::device {

template <class P>
const void* cuda_entry() {
  return reinterpret_cast<const void*>(&run_program<P>);
}

template const void* cuda_entry<msg::BatchedCopyKernel>();

}  // namespace sennit::device
