// A build without CUDA: the block programs of coll/ have no GPU entry.
#include "coll/programs.h"

namespace sennit::device {

template <class P>
const void* cuda_entry() {
  return nullptr;
}

template const void* cuda_entry<coll::AllreduceAlone>();
template const void* cuda_entry<coll::AllreduceOneShotPackets>();
template const void* cuda_entry<coll::AllreduceTwoShotPackets>();
template const void* cuda_entry<coll::AllreduceTwoShot>();
template const void* cuda_entry<coll::AllreduceLinear>();
template const void* cuda_entry<coll::AllreduceRecursiveDoubling>();
template const void* cuda_entry<coll::AllreduceRing>();
template const void* cuda_entry<coll::AllreduceReduceScatterAllgather>();
template const void* cuda_entry<coll::AllreduceHierarchical>();
template const void* cuda_entry<coll::EngineEnd>();
template const void* cuda_entry<coll::EngineKeep>();
template const void* cuda_entry<coll::EngineReduce>();
template const void* cuda_entry<coll::EngineStart>();

}  // namespace sennit::device
