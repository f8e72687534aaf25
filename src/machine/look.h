// A machine that is looked at once in the life of a process.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/status.h"
#include "machine/assemble.h"
#include "machine/machine.h"

namespace sennit::machine {

/// Keeps what a look at the machine found: NVML and hwloc take tens of milliseconds or more, which every communicator
/// of a program would wait for, and its GPUs are the same as long as a process runs. From any thread; one that comes
/// while another looks waits for it.
class Look {
 public:
  using Function = std::function<Result<Machine>(const std::vector<GpuExtra>&)>;

  explicit Look(Function look) : look_(std::move(look)) {}

  /// As it was found before with the same `extras`; else looks, and keeps the latest unless it is an error.
  Result<Machine> at(const std::vector<GpuExtra>& extras);

 private:
  struct Found {
    std::vector<GpuExtra> extras;
    Machine machine;
  };

  Function look_;
  std::mutex mutex_;
  std::optional<Found> found_;
};

}  // namespace sennit::machine
