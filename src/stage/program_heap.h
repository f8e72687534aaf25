// Knows where the main program's data and its heap are: memory that is the host's, told by three comparisons.
#pragma once

#include <atomic>
#include <cstdint>

namespace sennit::stage {

/// The main program's data, and behind them the heap that sbrk() moves; nothing else is mapped between. Thread-safe.
class ProgramHeap {
 public:
  ProgramHeap();

  /// Returns whether the address is there. False says nothing.
  bool holds(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (address < first_ || address >= limit_) return false;
    const std::uintptr_t end = end_.load(std::memory_order_relaxed);
    return address < end || (address - end < kStep && has_grown_to(address));
  }

 private:
  static constexpr std::uintptr_t kStep = 256 << 20;
  /// CUDA likes to reserve addresses from here on, above programs that lie low. A heap that once reached there, and
  /// does no more, must not be taken for one.
  static constexpr std::uintptr_t kLow = 0x200000000;

  /// Asks for the heap's end. Not each time: MPIs that watch sbrk() make a system call of it.
  bool has_grown_to(std::uintptr_t address) const;

  const std::uintptr_t first_;
  const std::uintptr_t limit_;
  mutable std::atomic<std::uintptr_t> end_;
};

/// This process's.
extern const ProgramHeap program_heap;

}  // namespace sennit::stage
