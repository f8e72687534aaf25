#include "bench/doctor/created_memory.h"

#include "device/cuda/share.h"

namespace sennit::bench::doctor {

Result<device::Memory> create_exportable(int device, std::size_t bytes) {
  return device::create_exportable(device, bytes);
}

}  // namespace sennit::bench::doctor
