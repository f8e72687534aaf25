// Exports what device/cuda_module.h asks of libsennit-cuda.so: the cuda executor with all kernels.
#include "device/cuda_module.h"

#include <vector>

#include "cuda/kernels.h"
#include "device/cuda/open.h"

namespace sennit::cuda {

namespace {

std::vector<device::Kernel> all_kernels() {
  std::vector<device::Kernel> all;
  for (const auto kernels : {coll_moving_kernels(), coll_packets_kernels(), coll_reducing_kernels(), msg_kernels(),
                             path_kernels(), stage_kernels()})
    all.insert(all.end(), kernels.begin(), kernels.end());
  return all;
}

Result<std::shared_ptr<device::Executor>> open(int own_thread_of) {
  static const std::vector<device::Kernel> kernels = all_kernels();
  return device::open_cuda_executor(own_thread_of, kernels);
}

}  // namespace

}  // namespace sennit::cuda

extern "C" {
__attribute__((visibility("default"))) extern const sennit::device::CudaModule sennit_cuda_module;
const sennit::device::CudaModule sennit_cuda_module{SENNIT_VERSION, SENNIT_CUDA_VERSION, SENNIT_KERNELS,
                                                    &sennit::cuda::open};
}
