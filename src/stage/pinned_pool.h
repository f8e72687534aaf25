// Lends host memory for the time of a call: it stands in for GPU memory while a library works on it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "device/executor.h"

namespace sennit::stage {

/// Pinned, and kept for the next call, up to a limit: pinning costs as much as many copies, and GPUs copy to memory
/// that is not pinned a tenth as fast. The largest pieces, and long ones that may never be written to, are fresh from
/// the system, and take no memory before something is written there; those that were hardly written to are kept too.
class PinnedPool {
 public:
  enum class Use : std::uint8_t { certain, perhaps };

  /// Largest pieces that are pinned, for certain use and for such as may never come: defaults.
  static constexpr std::uint64_t kLargest = 256 << 20, kLargestPerhaps = 4 << 20;
  /// The pool keeps so many bytes in all of pieces that are not in use: a default, of 64 long messages on their way.
  static constexpr std::uint64_t kMostKept = 512 << 20;
  /// Fresh pieces of which no more was written are kept, as many: defaults. What is written stays in memory.
  static constexpr std::uint64_t kHardly = 16 << 10;
  static constexpr std::size_t kMostHardlyWritten = 256;

  explicit PinnedPool(std::shared_ptr<device::Executor> executor) : executor_(std::move(executor)) {}

  /// Returns at least `bytes`, aligned to 64. Thread-safe. Errors: out_of_memory.
  Result<device::Memory> acquire(std::uint64_t bytes, Use use = Use::perhaps);
  /// Returns whether GPUs reach the memory themselves.
  bool is_pinned(const device::Memory& memory);
  /// Gives memory back, for the next call that acquires. `written`: no byte behind so many was written to.
  void release(device::Memory memory, std::uint64_t written = ~std::uint64_t{0});

 private:
  /// Returns the size that pieces are made with, for at least `bytes`: they serve more than one length.
  static std::uint64_t rounded(std::uint64_t bytes);

  const std::shared_ptr<device::Executor> executor_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<device::Memory>> kept_;  // by rounded bytes
  std::uint64_t bytes_kept_ = 0;
  std::set<const void*> fresh_;                                  // pieces on their way that are not pinned
  std::multimap<std::uint64_t, device::Memory> hardly_written_;  // by bytes
};

}  // namespace sennit::stage
