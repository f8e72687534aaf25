#include "bench/mpi/memory.h"
#include "device/cuda/check.h"

namespace sennit::bench::mpi {

Status make_current(int device) {
  return device::check(cudaSetDevice(device), "make the rank's GPU current");
}

}  // namespace sennit::bench::mpi
