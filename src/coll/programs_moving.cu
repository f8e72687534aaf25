// Compiles for GPUs the block programs that move messages over links and reduce nothing.
#include "coll/programs.h"
#include "device/cuda/block.cuh"

namespace sennit::device {

template <class P>
const void* cuda_entry() {
  return reinterpret_cast<const void*>(&run_program<P>);
}

template const void* cuda_entry<coll::AllgatherRing>();
template const void* cuda_entry<coll::BarrierDirect>();
template const void* cuda_entry<coll::BarrierDissemination>();
template const void* cuda_entry<coll::BroadcastScatterAllgather>();
template const void* cuda_entry<coll::BroadcastTree>();
template const void* cuda_entry<coll::ExchangeDirect>();
template const void* cuda_entry<coll::ExchangeWhole>();
template const void* cuda_entry<coll::ExchangeWindows>();
template const void* cuda_entry<coll::FewMessages>();
template const void* cuda_entry<coll::ManyMessages>();

}  // namespace sennit::device
