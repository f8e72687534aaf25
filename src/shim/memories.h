// Which of a program's pointers are GPU memory, asked at every call: without a look at the executor, and without
// starting CUDA in a program that does not use it.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "base/status.h"
#include "device/executor.h"

namespace sennit::shim {

/// Whether the pointer is in the calling thread's stack, in the program's own data, or in the heap behind it: never
/// memory of a GPU, whatever the program does. Some ns; false says nothing.
bool is_ordinary(const void* pointer);

class Memories {
 public:
  /// `emulate`: memory of the host executor counts as a GPU's (SENNIT_EMULATE). Errors: those of
  /// open_host_executor().
  static Result<std::unique_ptr<Memories>> open(bool emulate);

  /// Whether there can be GPU memory in this process at all.
  bool possible() const { return emulated_ != nullptr || ask_ != nullptr; }

  /// Whether the program has started CUDA, as far as questions have told.
  bool awake() const { return emulated_ != nullptr || awake_.load(std::memory_order_relaxed); }

  /// The device of memory that only a GPU reaches, else -1: managed and pinned memory count as the host's, since its
  /// libraries can use them. Any pointer may be asked about. Where the program uses CUDA the driver is asked, 90 ns
  /// of host memory (H200), unless it is_ordinary(); else 4 ns.
  int holder(const void* pointer) const {
    if (emulated_ == nullptr && (ask_ == nullptr || (awake() && is_ordinary(pointer)))) return -1;
    return ask(pointer);
  }
  bool is_device(const void* pointer) const { return holder(pointer) >= 0; }
  /// The same of a pointer that this thread has asked about in this call of the program's, or after the last one that
  /// was a GPU's: the driver is not asked twice.
  int holder_again(const void* pointer) const;

  /// The executor of the memory found; opened when first asked for. Errors: those of open_cuda_executor().
  Result<std::shared_ptr<device::Executor>> executor();
  /// One for a communicator alone, whose end aborts nothing else; where memory is emulated, the same, which knows it.
  Result<std::shared_ptr<device::Executor>> executor_for_communicator();

  /// Memory that counts as that of an emulated GPU, for tests. Null where nothing is emulated, or none is left.
  void* allocate_emulated(int device, std::size_t bytes);
  void free_emulated(void* data);

 private:
  using Ask = int(unsigned count, unsigned* attributes, void** data, unsigned long long pointer);

  Memories() = default;
  int ask(const void* pointer) const;
  int ask_emulated(const void* pointer) const;
  int ask_driver(const void* pointer) const;

  mutable std::atomic<bool> awake_{false};
  Ask* ask_ = nullptr;  // the driver's cuPointerGetAttributes
  std::shared_ptr<device::Executor> emulated_;
  std::mutex mutex_;
  std::map<void*, device::Memory> allocated_;  // emulated
  std::shared_ptr<device::Executor> executor_;
};

}  // namespace sennit::shim
