// Stands in for the cuda executor in a build without CUDA.
#include "device/cuda/exportable.h"
#include "device/executor.h"

namespace sennit::device {

namespace {

Status absent() {
  return Status(Code::unsupported, "this build of sennit has no cuda executor", {},
                "Install a CUDA toolkit (12.5 or newer), put nvcc on PATH and build again");
}

}  // namespace

Result<std::shared_ptr<Executor>> open_cuda_executor(int) {
  return absent();
}

Result<Memory> create_exportable(int, std::size_t) {
  return absent();
}

}  // namespace sennit::device
