// Finds the kernel of a block program among those that were compiled.
#pragma once

#include <span>

#include "device/program.h"

namespace sennit::device {

struct Kernel {
  const char* type;   ///< of the block program, as Program::type
  const void* entry;  ///< __global__ function (arguments, Limits)
};

/// Returns the kernel of `program`, which remembers it; null where it was compiled for no GPU.
const void* kernel_of(const Program& program, std::span<const Kernel> kernels);

}  // namespace sennit::device
