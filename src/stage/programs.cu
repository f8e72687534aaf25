// Compiles every block program of stage/ for GPUs.
#include "device/cuda/block.cuh"
#include "stage/copy_server.h"
#include "stage/segment_copy.h"
#include "stage/strided_copy.h"

namespace sennit::device {

template <class P>
const void* cuda_entry() {
  return reinterpret_cast<const void*>(&run_program<P>);
}

template const void* cuda_entry<stage::CopyServer>();
template const void* cuda_entry<stage::SegmentCopy>();
template const void* cuda_entry<stage::StridedCopy>();

}  // namespace sennit::device
