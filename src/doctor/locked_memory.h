// Checks locked (pinned) host memory: the staged paths of every pair of devices pass through some.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doctor/check.h"
#include "doctor/situation.h"

namespace sennit::doctor {

struct LockedMemoryReadings {
  std::optional<std::uint64_t> limit;    ///< RLIMIT_MEMLOCK, soft; absent: unlimited
  std::optional<std::uint64_t> ceiling;  ///< the same, hard
  std::uint64_t wanted = 0;              ///< SENNIT_STAGING for each pair of a rank
  std::optional<bool> pinned;            ///< CUDA did pin `wanted` bytes; absent: not tried
  std::string problem;                   ///< why it did not
};

/// Reads the limits and what is wanted for a rank with `peers` peers (at least 1); the rest is for the caller to fill
/// in.
LockedMemoryReadings read_locked_memory(int peers);

/// The attempt decides, where there was one: CUDA's driver pins beyond the limit, network cards do not.
Check judge_locked_memory(const Situation& situation, const LockedMemoryReadings& readings, bool container);

}  // namespace sennit::doctor
