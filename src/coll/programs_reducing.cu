// Compiles for GPUs the block programs that reduce over links, beside copy engines, or alone.
#include "coll/programs.h"
#include "device/cuda/block.cuh"

namespace sennit::device {

template <class P>
const void* cuda_entry() {
  return reinterpret_cast<const void*>(&run_program<P>);
}

template const void* cuda_entry<coll::AllreduceHierarchical>();
template const void* cuda_entry<coll::AllreduceLinear>();
template const void* cuda_entry<coll::AllreduceRecursiveDoubling>();
template const void* cuda_entry<coll::AllreduceReduceScatterAllgather>();
template const void* cuda_entry<coll::AllreduceRing>();
template const void* cuda_entry<coll::AllreduceTwoShot>();
template const void* cuda_entry<coll::AllreduceTwoShotWhole>();
template const void* cuda_entry<coll::AllreduceTwoShotWindows>();
template const void* cuda_entry<coll::EngineEnd>();
template const void* cuda_entry<coll::EngineKeep>();
template const void* cuda_entry<coll::EngineReduce>();
template const void* cuda_entry<coll::EngineReduced>();
template const void* cuda_entry<coll::EngineStart>();
template const void* cuda_entry<coll::ReduceAlone>();
template const void* cuda_entry<coll::ReduceChain>();
template const void* cuda_entry<coll::ReduceRows>();
template const void* cuda_entry<coll::ReduceScatterDirect>();
template const void* cuda_entry<coll::ReduceScatterRing>();
template const void* cuda_entry<coll::ReduceScatterWhole>();
template const void* cuda_entry<coll::WindowsEnd>();

}  // namespace sennit::device
