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

  /// Copies and waits. One of the two is memory of `device`, whose lane does it. Thread-safe. Errors: those of the
  /// executor.
  Status copy(void* dst, const void* src, std::uint64_t bytes, int device);
  /// Of memory whose device has to be found out.
  Status copy(void* dst, const void* src, std::uint64_t bytes);

 private:
  Result<std::unique_ptr<device::Lane>> take(int device);
  void give(int device, std::unique_ptr<device::Lane> lane);

  const std::shared_ptr<device::Executor> executor_;
  std::mutex mutex_;
  std::map<int, std::vector<std::unique_ptr<device::Lane>>> idle_;  // by device
};

}  // namespace sennit::shim::mpi
