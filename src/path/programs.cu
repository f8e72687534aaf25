// Compiles every block program of path/ for GPUs.
#include "device/cuda/block.cuh"
#include "path/await_arrivals.h"
#include "path/peer_copy.h"
#include "path/staged_copy.h"

namespace sennit::device {

template <class P>
const void* cuda_entry() {
  return reinterpret_cast<const void*>(&run_program<P>);
}

template const void* cuda_entry<path::AwaitArrivals>();
template const void* cuda_entry<path::PeerCopy>();
template const void* cuda_entry<path::StagedReceive>();
template const void* cuda_entry<path::StagedSend>();

}  // namespace sennit::device
