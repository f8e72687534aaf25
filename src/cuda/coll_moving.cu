// Compiles for GPUs the block programs that move messages over links and reduce nothing.
#include "coll/programs.h"
#include "cuda/kernel.cuh"

namespace sennit::cuda {

std::span<const device::Kernel> coll_moving_kernels() {
  static const std::array kernels{
      kernel_of<coll::AllgatherRing>(),        kernel_of<coll::BarrierDirect>(),
      kernel_of<coll::BarrierDissemination>(), kernel_of<coll::BroadcastScatterAllgather>(),
      kernel_of<coll::BroadcastTree>(),        kernel_of<coll::ExchangeDirect>(),
      kernel_of<coll::ExchangeWhole>(),        kernel_of<coll::ExchangeWindows>(),
      kernel_of<coll::FewMessages>(),          kernel_of<coll::ManyMessages>()};
  return kernels;
}

}  // namespace sennit::cuda
