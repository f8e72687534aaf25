// Stands in for the kernels in a build without CUDA: the block programs of path/ have no GPU entry.
#include "path/await_arrivals.h"
#include "path/peer_copy.h"
#include "path/staged_copy.h"

namespace sennit::device {

template <class P>
const void* cuda_entry() {
  return nullptr;
}

template const void* cuda_entry<path::AwaitArrivals>();
template const void* cuda_entry<path::PeerCopy>();
template const void* cuda_entry<path::StagedReceive>();
template const void* cuda_entry<path::StagedSend>();

}  // namespace sennit::device
