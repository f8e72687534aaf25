// Checks the host memory left for staging buffers and benchmarks, below the limits of this process's control groups.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "doctor/check.h"

namespace sennit::doctor {

struct MemoryReadings {
  std::uint64_t available = 0;               ///< MemAvailable of /proc/meminfo; 0 where unknown
  std::optional<std::uint64_t> group_limit;  ///< of the tightest control group; absent: none
  std::uint64_t group_used = 0;              ///< in that group, without what the kernel would drop (page cache)
};

MemoryReadings read_memory(const std::filesystem::path& root = "/");

/// `wanted`: bytes that all ranks of a job on this node stage through.
Check judge_memory(const MemoryReadings& readings, std::uint64_t wanted);

}  // namespace sennit::doctor
