// Compiles for GPUs the block programs that send packets.
#include "coll/programs.h"
#include "device/cuda/block.cuh"

namespace sennit::device {

template <class P>
const void* cuda_entry() {
  return reinterpret_cast<const void*>(&run_program<P>);
}

template const void* cuda_entry<coll::AllreduceOneShotPackets>();
template const void* cuda_entry<coll::AllreduceTwoShotPackets>();
template const void* cuda_entry<coll::ExchangePackets>();
template const void* cuda_entry<coll::ReduceScatterPackets>();

}  // namespace sennit::device
