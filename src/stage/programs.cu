// Every block program of stage/, compiled for GPUs.
#include "device/cuda/block.cuh"
#include "stage/copy_server.h"
#include "stage/segment_copy.h"
#include "stage/strided_copy.h"

namespace sennit::device {

template <>
const void* cuda_entry<stage::CopyServer>() {
  return reinterpret_cast<const void*>(&run_program<stage::CopyServer>);
}

template <>
const void* cuda_entry<stage::SegmentCopy>() {
  return reinterpret_cast<const void*>(&run_program<stage::SegmentCopy>);
}

template <>
const void* cuda_entry<stage::StridedCopy>() {
  return reinterpret_cast<const void*>(&run_program<stage::StridedCopy>);
}

}  // namespace sennit::device
