#include "device/cuda/kernel.h"

#include <algorithm>
#include <cstring>

namespace sennit::device {

const void* kernel_of(const Program& program, std::span<const Kernel> kernels) {
  if (const void* const known = program.kernel.load(std::memory_order_relaxed); known != nullptr) return known;
  const auto found =
      std::ranges::find_if(kernels, [&](const Kernel& each) { return std::strcmp(each.type, program.type) == 0; });
  if (found == kernels.end()) return nullptr;
  program.kernel.store(found->entry, std::memory_order_relaxed);
  return found->entry;
}

}  // namespace sennit::device
