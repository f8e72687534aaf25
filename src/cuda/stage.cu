// Compiles every block program of stage/ for GPUs.
#include "cuda/kernel.cuh"
#include "stage/copy_server.h"
#include "stage/segment_copy.h"
#include "stage/strided_copy.h"

namespace sennit::cuda {

std::span<const device::Kernel> stage_kernels() {
  static const std::array kernels{kernel_of<stage::CopyServer>(), kernel_of<stage::SegmentCopy>(),
                                  kernel_of<stage::StridedCopy>()};
  return kernels;
}

}  // namespace sennit::cuda
