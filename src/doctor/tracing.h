// Checks whether a process may read another's memory (process_vm_readv): MPI and UCX copy so between processes of a
// host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doctor/check.h"

namespace sennit::doctor {

struct TracingReadings {
  int own_error = 0;         ///< errno of reading this process's own memory; 0: it worked
  int other_error = 0;       ///< errno of a sibling's attempt to read this process's memory; 0: it worked
  std::optional<int> scope;  ///< kernel.yama.ptrace_scope; absent where Yama is not there
  std::string trouble;       ///< why the attempt gave no answer; empty when it did
};

/// Reads a byte of another process and tells {"error": errno}; runs in a process of its own.
void probe_tracing(long process, std::uint64_t address);
/// This process's part: own_error and scope.
TracingReadings read_tracing();

Check judge_tracing(const TracingReadings& readings, bool container);

}  // namespace sennit::doctor
