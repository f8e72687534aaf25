#include "bench/allreduce/stream.h"

namespace sennit::bench::allreduce {

Result<std::unique_ptr<Stream>> open_cuda_stream(device::Executor&, int) {
  return Status(Code::unsupported, "this build has no CUDA", {}, "Build sennit where nvcc is found");
}

}  // namespace sennit::bench::allreduce
