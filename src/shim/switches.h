// Reads what users tell the drop-ins through the environment; one class serves MPI and NCCL.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "shim/report.h"

namespace sennit::shim {

/// Says which calls the drop-in for NCCL takes: those that measured faster on this machine, or all that it can.
enum class Take : std::uint8_t { measured, all };

/// Says how collectives of several nodes travel: as net::Way, or staged like everything else.
enum class Between : std::uint8_t { rails, adapters, leaders, staged };

struct Switches {
  bool report = false;
  bool explain = false;
  bool emulate = false;
  bool reorder = false;  ///< processes get other ranks where a program lets MPI reorder them
  std::optional<std::vector<std::string>> operations;  ///< none: all
  Between between = Between::rails;
  Take take = Take::measured;
  std::string nccl;       ///< the program's, as nccl_name() has it; not from the environment alone
  std::string nccl_file;  ///< where that lies
  /// A block of a GPU waits so long for the next small copy; 0: no block does. It is 0 also where launches wait for
  /// their end.
  std::chrono::microseconds linger{30};
  /// Bytes of a one-sided accumulate that a GPU does rather than the host. A default: it is sooner at every length (2
  /// x H200: 1 KiB in 21 instead of 41 µs, 64 KiB in 25 instead of 119).
  std::uint64_t accumulate_from = 0;
  HowListener listener;  ///< the observer before the drop-in; not from the environment

  /// Reads SENNIT_REPORT, SENNIT_EXPLAIN, SENNIT_EMULATE, SENNIT_REORDER, SENNIT_OPS, SENNIT_BETWEEN, SENNIT_TAKE,
  /// SENNIT_LINGER and SENNIT_ACCUMULATE, and CUDA's own CUDA_LAUNCH_BLOCKING. SENNIT_DISABLE keeps the drop-in from
  /// being loaded at all. Errors: invalid_argument names the variable.
  static Result<Switches> from_environment();

  /// Stands in `operations` for every message, however it is sent.
  static constexpr std::string_view kMessages = "sendrecv";
  bool takes(std::string_view operation) const;
};

/// "allreduce,bcast" as names in lower case. Errors: invalid_argument names what the drop-ins never do.
Result<std::vector<std::string>> parse_operations(std::string_view text);

}  // namespace sennit::shim
