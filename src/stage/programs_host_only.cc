// Stands in for the kernels in a build without CUDA: the block programs of stage/ have no GPU entry.
#include "stage/copy_server.h"
#include "stage/segment_copy.h"
#include "stage/strided_copy.h"

namespace sennit::device {

template <class P>
const void* cuda_entry() {
  return nullptr;
}

template const void* cuda_entry<stage::CopyServer>();
template const void* cuda_entry<stage::SegmentCopy>();
template const void* cuda_entry<stage::StridedCopy>();

}  // namespace sennit::device
