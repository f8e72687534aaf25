// Checks /dev/shm: sennit itself does not use it (its shared memory has no names), but NCCL and MPI do.
#pragma once

#include <cstdint>
#include <filesystem>

#include "doctor/check.h"

namespace sennit::doctor {

struct SharedMemoryReadings {
  bool present = false;
  std::uint64_t bytes = 0;  ///< its size
  std::uint64_t free_bytes = 0;
  bool writable = false;
};

SharedMemoryReadings read_shared_memory(const std::filesystem::path& folder = "/dev/shm");

/// Less than 1 GiB, or less than 64 MiB for each of `gpus`, is too little.
Check judge_shared_memory(const SharedMemoryReadings& readings, int gpus, bool container);

}  // namespace sennit::doctor
