// A build without CUDA: the block programs of stage/ have no GPU entry.
#include "stage/copy_server.h"
#include "stage/segment_copy.h"
#include "stage/strided_copy.h"

namespace sennit::device {

template <>
const void* cuda_entry<stage::CopyServer>() {
  return nullptr;
}

template <>
const void* cuda_entry<stage::SegmentCopy>() {
  return nullptr;
}

template <>
const void* cuda_entry<stage::StridedCopy>() {
  return nullptr;
}

}  // namespace sennit::device
