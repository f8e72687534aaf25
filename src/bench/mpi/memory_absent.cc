#include "bench/mpi/memory.h"

namespace sennit::bench::mpi {

Status make_current(int) {
  return {};
}

Result<device::Memory> managed_memory(std::uint64_t) {
  return Status(Code::unsupported, "this build has no CUDA", "--buffers managed", "Build sennit with CUDA");
}

}  // namespace sennit::bench::mpi
