#include "bench/collective/stream.h"

namespace sennit::bench::collective {

Result<std::unique_ptr<Stream>> open_cuda_stream(device::Executor&, int) {
  return Status(Code::unsupported, "this build has no CUDA", {}, "Build sennit where nvcc is found");
}

}  // namespace sennit::bench::collective
