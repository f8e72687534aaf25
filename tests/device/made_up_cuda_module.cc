// Stands in for libsennit-cuda.so in tests: it opens the host executor.
#include "device/cuda_module.h"

#ifdef SENNIT_MADE_UP_VERSION

namespace {

sennit::Result<std::shared_ptr<sennit::device::Executor>> open(int) {
  return sennit::device::open_host_executor();
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) extern const sennit::device::CudaModule sennit_cuda_module;
const sennit::device::CudaModule sennit_cuda_module{SENNIT_MADE_UP_VERSION, "13.0.88", "90", &open};
}

#endif
