// Stands in for the kernels in a build without CUDA: the block programs of msg/ have no GPU entry.
#include "msg/batched_copy_kernel.h"

namespace sennit::device {

template <class P>
const void* cuda_entry() {
  return nullptr;
}

template const void* cuda_entry<msg::BatchedCopyKernel>();

}  // namespace sennit::device
