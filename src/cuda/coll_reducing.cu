// Compiles for GPUs the block programs that reduce over links, beside copy engines, or alone.
#include "coll/programs.h"
#include "cuda/kernel.cuh"

namespace sennit::cuda {

std::span<const device::Kernel> coll_reducing_kernels() {
  static const std::array kernels{kernel_of<coll::AllreduceHierarchical>(),
                                  kernel_of<coll::AllreduceLinear>(),
                                  kernel_of<coll::AllreduceRecursiveDoubling>(),
                                  kernel_of<coll::AllreduceReduceScatterAllgather>(),
                                  kernel_of<coll::AllreduceRing>(),
                                  kernel_of<coll::AllreduceTwoShot>(),
                                  kernel_of<coll::AllreduceTwoShotWhole>(),
                                  kernel_of<coll::AllreduceTwoShotWindows>(),
                                  kernel_of<coll::EngineEnd>(),
                                  kernel_of<coll::EngineKeep>(),
                                  kernel_of<coll::EngineReduce>(),
                                  kernel_of<coll::EngineReduced>(),
                                  kernel_of<coll::EngineStart>(),
                                  kernel_of<coll::ReduceAlone>(),
                                  kernel_of<coll::ReduceChain>(),
                                  kernel_of<coll::ReduceRows>(),
                                  kernel_of<coll::ReduceScatterDirect>(),
                                  kernel_of<coll::ReduceScatterRing>(),
                                  kernel_of<coll::ReduceScatterWhole>(),
                                  kernel_of<coll::WindowsEnd>()};
  return kernels;
}

}  // namespace sennit::cuda
