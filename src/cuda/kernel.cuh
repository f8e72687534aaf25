// Compiles a block program into a kernel, and says which program it is of.
#pragma once

#include <array>
#include <span>
#include <typeinfo>

#include "cuda/kernels.h"
#include "device/cuda/block.cuh"

namespace sennit::cuda {

template <class P>
device::Kernel kernel_of() {
  return {typeid(P).name(), reinterpret_cast<const void*>(&device::run_program<P>)};
}

}  // namespace sennit::cuda
