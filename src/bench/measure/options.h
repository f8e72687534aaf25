// Says how much a measurement measures.
#pragma once

#include <chrono>
#include <cstdint>

#include "bench/measure/copies.h"
#include "bench/measure/staged.h"
#include "device/executor.h"

namespace sennit::bench::measure {

struct Options {
  bool thorough = false;            ///< every pair and path is measured itself, none by a pair that is linked alike
  std::uint64_t room = 0;           ///< of each of two buffers per GPU and per host; limits all sizes below
  Sweep direct;                     ///< one copy alone
  Sweep crowd;                      ///< both ways, all at once
  StagedSweep staged;               ///< through host memory and through other GPUs
  std::chrono::milliseconds limit;  ///< most that one copy may take while a path is not yet believed
};

/// Returns options with sizes that tell startup and rate apart on GPUs (up to 256 MiB, thorough 1 GiB) or between
/// threads (up to 4 MiB, thorough 64 MiB).
Options default_options(device::Kind kind, bool thorough);

}  // namespace sennit::bench::measure
