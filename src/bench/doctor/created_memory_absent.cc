// A build without CUDA.
#include "bench/doctor/created_memory.h"

namespace sennit::bench::doctor {

Result<device::Memory> create_exportable(int, std::size_t) {
  return Status(Code::unsupported, "this build of sennit has no cuda executor", {},
                "Install a CUDA toolkit (12.5 or newer), put nvcc on PATH and build again");
}

}  // namespace sennit::bench::doctor
