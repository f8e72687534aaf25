// Copies between GPU memory of this process and host memory, done when they return: what staging needs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/executor.h"

namespace sennit::shim::mpi {

class Gpus {
 public:
  explicit Gpus(std::shared_ptr<device::Executor> executor) : executor_(std::move(executor)) {}

  device::Executor& executor() { return *executor_; }

  /// Copies and waits. One of the two is memory of a GPU; a lane of that GPU does it. Thread-safe. Errors: those of
  /// the executor.
  Status copy(void* dst, const void* src, std::uint64_t bytes);

 private:
  Result<std::unique_ptr<device::Lane>> take(int device);
  void give(int device, std::unique_ptr<device::Lane> lane);

  const std::shared_ptr<device::Executor> executor_;
  std::mutex mutex_;
  std::map<int, std::vector<std::unique_ptr<device::Lane>>> idle_;  // by device
};

/// Host memory for the time of a call: pinned and kept for the next one where it is small, else fresh and untouched,
/// so that it takes no memory before something is written to it.
class HostMemory {
 public:
  /// Larger pieces are not pinned, and none is kept beyond a few: defaults.
  static constexpr std::uint64_t kLargestPinned = 4 << 20;
  static constexpr std::size_t kMostKept = 16;

  explicit HostMemory(std::shared_ptr<device::Executor> executor) : executor_(std::move(executor)) {}

  /// At least `bytes`, aligned to 64. Thread-safe. Errors: out_of_memory.
  Result<device::Memory> take(std::uint64_t bytes);
  /// For the next one that takes.
  void give(device::Memory memory);

 private:
  const std::shared_ptr<device::Executor> executor_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<device::Memory>> kept_;  // by bytes: powers of two
};

}  // namespace sennit::shim::mpi
