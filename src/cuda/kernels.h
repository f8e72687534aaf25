// Lists the kernels of the rooms whose block programs run on GPUs: a function for each source file that compiles
// some.
#pragma once

#include <span>

#include "device/cuda/kernel.h"

namespace sennit::cuda {

std::span<const device::Kernel> coll_moving_kernels();
std::span<const device::Kernel> coll_packets_kernels();
std::span<const device::Kernel> coll_reducing_kernels();
std::span<const device::Kernel> msg_kernels();
std::span<const device::Kernel> path_kernels();
std::span<const device::Kernel> stage_kernels();

}  // namespace sennit::cuda
