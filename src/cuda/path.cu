// Compiles every block program of path/ for GPUs.
#include "cuda/kernel.cuh"
#include "path/await_arrivals.h"
#include "path/peer_copy.h"
#include "path/staged_copy.h"

namespace sennit::cuda {

std::span<const device::Kernel> path_kernels() {
  static const std::array kernels{kernel_of<path::AwaitArrivals>(), kernel_of<path::PeerCopy>(),
                                  kernel_of<path::StagedReceive>(), kernel_of<path::StagedSend>()};
  return kernels;
}

}  // namespace sennit::cuda
