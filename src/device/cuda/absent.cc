// A build without CUDA.
#include "device/executor.h"

namespace sennit::device {

Result<std::shared_ptr<Executor>> open_cuda_executor(int) {
  return Status(Code::unsupported, "this build of sennit has no cuda executor", {},
                "Install a CUDA toolkit (12.5 or newer), put nvcc on PATH and build again");
}

}  // namespace sennit::device
