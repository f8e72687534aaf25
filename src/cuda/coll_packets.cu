// Compiles for GPUs the block programs that send packets.
#include "coll/programs.h"
#include "cuda/kernel.cuh"

namespace sennit::cuda {

std::span<const device::Kernel> coll_packets_kernels() {
  static const std::array kernels{kernel_of<coll::AllreduceOneShotPackets>(),
                                  kernel_of<coll::AllreduceTwoShotPackets>(), kernel_of<coll::ExchangePackets>(),
                                  kernel_of<coll::ReduceScatterPackets>()};
  return kernels;
}

}  // namespace sennit::cuda
