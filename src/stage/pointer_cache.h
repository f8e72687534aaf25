// Tells which of a program's pointers are GPU memory. It is asked at every call: it answers without a look at the
// executor, and without starting CUDA in a program that does not use it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/status.h"
#include "device/executor.h"
#include "stage/program_heap.h"

namespace sennit::stage {

/// Returns whether the pointer is in the calling thread's stack, in the program's own data, or in the heap behind it:
/// never memory of a GPU, whatever the program does. It takes some ns; false says nothing.
bool is_ordinary(const void* pointer);

/// Says where memory is, and how CUDA treats it.
struct MemInfo {
  int device = -1;           ///< -1: on no GPU
  bool sync_memops = false;  ///< calls that CUDA calls synchronous are over, for this memory, when they return
};

/// Says what a pointer points to, for an observer.
struct Whereabouts {
  enum class Kind : std::uint8_t { host, pinned, managed, device } kind = Kind::host;
  int device = -1;  ///< of device and managed memory
  bool operator==(const Whereabouts&) const = default;
};

class PointerCache {
 public:
  /// Functions of the driver.
  struct Driver {
    int (*ask)(unsigned count, unsigned* attributes, void** data, unsigned long long pointer) = nullptr;
    int (*set)(const void* value, unsigned attribute, unsigned long long pointer) = nullptr;
    int (*push)(void* context) = nullptr;
    int (*pop)(void** context) = nullptr;
    int (*synchronize)(void* stream) = nullptr;
    bool whole() const { return ask && set && push && pop && synchronize; }
  };

  /// `emulate`: memory of the host executor counts as a GPU's (SENNIT_EMULATE). Errors: those of
  /// open_host_executor().
  static Result<std::unique_ptr<PointerCache>> open(bool emulate);
  /// Makes a cache that asks this driver; one that is not whole is not asked.
  static std::unique_ptr<PointerCache> over(const Driver& driver);

  /// Returns whether there can be GPU memory in this process at all.
  bool possible() const { return emulated_ != nullptr || driver_.ask != nullptr; }

  /// Returns whether the program has started CUDA, as far as earlier questions have shown.
  bool cuda_initialized() const { return emulated_ != nullptr || cuda_initialized_.load(std::memory_order_relaxed); }

  /// Returns the device of memory that only a GPU reaches, else -1: managed and pinned memory count as the host's,
  /// since its libraries can use them. Any pointer may be asked about. Where the program uses CUDA the driver is
  /// asked, 90 ns of host memory (H200), unless it is_ordinary(); else 4 ns.
  int holder(const void* pointer) const {
    if (emulated_ == nullptr &&
        (driver_.ask == nullptr || (cuda_initialized() ? is_ordinary(pointer) : is_uninitialized(pointer))))
      return -1;
    return ask(pointer);
  }
  bool is_device(const void* pointer) const { return holder(pointer) >= 0; }
  /// Returns whether the pointer is on the program's heap, and so the host's, whatever it has done with CUDA: two ns,
  /// and unlike is_device() it does not notice that the program has started CUDA. False says nothing.
  bool is_on_heap(const void* pointer) const { return emulated_ == nullptr && program_heap.holds(pointer); }
  /// Returns the device of the first memory that was a GPU's; -1: none was yet.
  int first_device() const { return first_device_.load(std::memory_order_relaxed); }
  /// Returns the same holder and how CUDA treats the memory, for a pointer that this thread has asked about in this
  /// call of the program's, or after the last one that was a GPU's: the driver is not asked twice.
  MemInfo info_of(const void* pointer) const;

  /// Returns what kind of memory the pointer leads to. The question changes nothing, neither the memory nor what
  /// later questions find: it is for an observer. Where the program uses CUDA the driver is asked once, unless it
  /// is_ordinary(). Emulated memory is that of this executor, or of the drop-in in the same process.
  Whereabouts kind_of(const void* pointer) const;

  /// Returns the executor of the memory found; opened when first asked for. Errors: those of open_cuda_executor().
  Result<std::shared_ptr<device::Executor>> executor();
  /// Opens an executor for a communicator alone, whose end aborts nothing else. `own_thread_of`: see
  /// open_cuda_executor().
  Result<std::shared_ptr<device::Executor>> executor_for_communicator(int own_thread_of = -1);

  /// Allocates memory that counts as that of an emulated GPU, for tests. Null where nothing is emulated, or none is
  /// left.
  void* allocate_emulated(int device, std::size_t bytes);
  void free_emulated(void* data);
  /// Returns the device of such memory, and of what the executor has for itself; -1 of other, and where nothing is
  /// emulated. Does not count as a question of the program's (info_of()).
  int emulated_holder(const void* pointer) const { return emulated_ != nullptr ? ask_emulated(pointer).device : -1; }

 private:
  PointerCache() = default;
  // The constants are those of cuda.h, which a build without CUDA does not have; the driver's ABI is frozen.
  static constexpr unsigned kMemoryType = 2;  // CU_POINTER_ATTRIBUTE_...
  static constexpr int kNotInitialized = 3;   // CUDA_ERROR_NOT_INITIALIZED

  /// Returns whether the driver says that it was never initialized: then no memory is a GPU's, nor ever was. Most
  /// programs that have nothing to do with GPUs are asked no more than this.
  bool is_uninitialized(const void* pointer) const {
    unsigned unused = 0, type = kMemoryType;
    void* data = &unused;
    const bool is = driver_.ask(1, &type, &data, reinterpret_cast<std::uintptr_t>(pointer)) == kNotInitialized;
    if (!is)
      cuda_initialized_.store(true, std::memory_order_relaxed);  // also of no address: data may lie where a type says
    return is;
  }
  int ask(const void* pointer) const;
  MemInfo ask_emulated(const void* pointer) const;
  MemInfo ask_driver(const void* pointer) const;
  /// Sets the attribute, for memory that no call has seen yet. CUDA copies within a GPU, fills memory, and takes few
  /// bytes from the host after such a call has returned, while other streams and processes do not wait for it: from
  /// now on it does not, and what was begun is waited for. False: it cannot be told so (memory of cuMemCreate), and
  /// whoever is faster than a copy engine may be too fast.
  bool set_sync_memops(const void* pointer, void* context) const;

  mutable std::atomic<bool> cuda_initialized_{false};
  mutable std::atomic<int> first_device_{-1};
  Driver driver_;
  std::shared_ptr<device::Executor> emulated_;
  int (*holder_elsewhere_)(const void*) = nullptr;  // emulated: sennit_emulated_holder() of the preloaded library
  std::mutex mutex_;
  std::map<void*, device::Memory> allocated_;  // emulated
  std::shared_ptr<device::Executor> executor_;
};

}  // namespace sennit::stage
