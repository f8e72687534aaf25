// Host memory for the time of a call: what stands in for GPU memory while an MPI works on it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "device/executor.h"

namespace sennit::shim::mpi {

/// Pinned, and kept for the next call, up to a limit: pinning costs as much as many copies, and GPUs copy to memory
/// that is not pinned a tenth as fast. Larger pieces, and those that may never be written to, are fresh from the
/// system, and take no memory before something is written there.
class HostMemory {
 public:
  enum class Use : std::uint8_t { certain, perhaps };

  /// Up to here every piece is pinned, and a few of each size are kept: defaults.
  static constexpr std::uint64_t kSmall = 4 << 20;
  static constexpr std::size_t kMostKept = 16;
  /// Larger ones are never pinned, and of those between so many bytes are kept in all: defaults.
  static constexpr std::uint64_t kLargestPinned = 256 << 20;
  static constexpr std::uint64_t kMostBytesKept = 512 << 20;

  explicit HostMemory(std::shared_ptr<device::Executor> executor) : executor_(std::move(executor)) {}

  /// At least `bytes`, aligned to 64. Thread-safe. Errors: out_of_memory.
  Result<device::Memory> take(std::uint64_t bytes, Use use = Use::perhaps);
  /// For the next one that takes.
  void give(device::Memory memory);

 private:
  Result<device::Memory> take_small(std::uint64_t bytes);
  /// Null data where none can be had.
  device::Memory take_large(std::uint64_t bytes);

  const std::shared_ptr<device::Executor> executor_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<device::Memory>> small_;  // by bytes: powers of two
  std::list<device::Memory> large_;                             // the latest given last
  std::set<const void*> pinned_;                                // the large pieces that are, kept or not
};

}  // namespace sennit::shim::mpi
