#include "bench/mpi/memory.h"
#include "device/cuda/check.h"

namespace sennit::bench::mpi {

Status make_current(int device) {
  return device::check(cudaSetDevice(device), "make the rank's GPU current");
}

Result<device::Memory> managed_memory(std::uint64_t bytes) {
  void* data = nullptr;
  if (auto status = device::check(cudaMallocManaged(&data, bytes), "allocate managed memory"); !status)
    return std::move(status).in("--buffers managed");
  return device::Memory(data, bytes, [](void* at) { (void)cudaFree(at); });
}

}  // namespace sennit::bench::mpi
