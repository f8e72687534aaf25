// Collects what the executor knows of its GPUs beyond the management library.
#pragma once

#include <vector>

#include "device/executor.h"
#include "machine/discover.h"

namespace sennit::node {

/// Collects them for machine::this_machine() and machine::known_machine().
inline std::vector<machine::GpuExtra> extras_of(const device::Executor& executor) {
  std::vector<machine::GpuExtra> extras;
  for (const device::DeviceInfo& info : executor.devices())
    extras.push_back({info.pci, info.sm_count, info.copy_engines});
  return extras;
}

}  // namespace sennit::node
