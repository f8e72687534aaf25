// Stands in for the kernels in a build without CUDA: the block programs of coll/ have no GPU entry.
#include "coll/programs.h"

namespace sennit::device {

template <class P>
const void* cuda_entry() {
  return nullptr;
}

template const void* cuda_entry<coll::AllgatherRing>();
template const void* cuda_entry<coll::AllreduceHierarchical>();
template const void* cuda_entry<coll::AllreduceLinear>();
template const void* cuda_entry<coll::AllreduceOneShotPackets>();
template const void* cuda_entry<coll::AllreduceRecursiveDoubling>();
template const void* cuda_entry<coll::AllreduceReduceScatterAllgather>();
template const void* cuda_entry<coll::AllreduceRing>();
template const void* cuda_entry<coll::AllreduceTwoShot>();
template const void* cuda_entry<coll::AllreduceTwoShotWhole>();
template const void* cuda_entry<coll::AllreduceTwoShotWindows>();
template const void* cuda_entry<coll::AllreduceTwoShotPackets>();
template const void* cuda_entry<coll::BarrierDirect>();
template const void* cuda_entry<coll::BarrierDissemination>();
template const void* cuda_entry<coll::BroadcastScatterAllgather>();
template const void* cuda_entry<coll::BroadcastTree>();
template const void* cuda_entry<coll::EngineEnd>();
template const void* cuda_entry<coll::EngineKeep>();
template const void* cuda_entry<coll::EngineReduce>();
template const void* cuda_entry<coll::EngineReduced>();
template const void* cuda_entry<coll::EngineStart>();
template const void* cuda_entry<coll::ExchangeDirect>();
template const void* cuda_entry<coll::ExchangePackets>();
template const void* cuda_entry<coll::ExchangeWhole>();
template const void* cuda_entry<coll::ExchangeWindows>();
template const void* cuda_entry<coll::FewMessages>();
template const void* cuda_entry<coll::ManyMessages>();
template const void* cuda_entry<coll::ReduceAlone>();
template const void* cuda_entry<coll::ReduceChain>();
template const void* cuda_entry<coll::ReduceRows>();
template const void* cuda_entry<coll::ReduceScatterDirect>();
template const void* cuda_entry<coll::ReduceScatterPackets>();
template const void* cuda_entry<coll::ReduceScatterRing>();
template const void* cuda_entry<coll::ReduceScatterWhole>();
template const void* cuda_entry<coll::WindowsEnd>();

}  // namespace sennit::device
