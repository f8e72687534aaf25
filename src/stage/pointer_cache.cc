#include "stage/pointer_cache.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace sennit::stage {

namespace {

// The constants are those of cuda.h, which a build without CUDA does not have; the driver's ABI is frozen.
constexpr unsigned kContext = 1, kSyncMemops = 6, kIsManaged = 8, kOrdinal = 9;  // CU_POINTER_ATTRIBUTE_...
constexpr unsigned kHostMemory = 1, kDeviceMemory = 2;                           // CU_MEMORYTYPE_...
constexpr std::uintptr_t kLegacy = 0x1;                                          // CU_STREAM_LEGACY

/// Holds the pointer that this thread asked about last and that was a GPU's.
struct Latest {
  const void* pointer = nullptr;
  MemInfo held;
};
thread_local Latest latest;

template <class Function>
void find(Function*& function, void* library, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

/// The calling thread's stack.
struct Stack {
  std::uintptr_t begin = 0, end = 0;
  Stack() {
    pthread_attr_t attributes;
    void* first = nullptr;
    std::size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    if (pthread_attr_getstack(&attributes, &first, &bytes) == 0) {
      // A stack may have no limit: then, memory that is far from its end may be anything.
      constexpr std::size_t kMost = 8 << 20;
      end = reinterpret_cast<std::uintptr_t>(first) + bytes;
      begin = end - std::min(bytes, kMost);
    }
    pthread_attr_destroy(&attributes);
  }
};

}  // namespace

bool is_ordinary(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  thread_local const Stack stack;
  // A coroutine runs on a stack of its own, from which nothing is known.
  if (here >= stack.begin && address >= here && address < stack.end) return true;
  return program_heap.holds(pointer);
}

Result<std::unique_ptr<PointerCache>> PointerCache::open(bool emulate) {
  std::unique_ptr<PointerCache> memories(new PointerCache());
  if (emulate) {
    auto executor = device::open_host_executor();
    if (!executor) return executor.status();
    memories->emulated_ = std::move(*executor);
    find(memories->holder_elsewhere_, RTLD_DEFAULT, "sennit_emulated_holder");
    return memories;
  }
  // The driver is loaded, not started: until the program starts CUDA, it knows no pointer.
  if (access("/dev/nvidiactl", F_OK) != 0) return memories;
  if (void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    Driver driver;
    find(driver.ask, library, "cuPointerGetAttributes");
    find(driver.set, library, "cuPointerSetAttribute");
    find(driver.push, library, "cuCtxPushCurrent_v2");
    find(driver.pop, library, "cuCtxPopCurrent_v2");
    find(driver.synchronize, library, "cuStreamSynchronize");
    return over(driver);
  }
  return memories;
}

std::unique_ptr<PointerCache> PointerCache::over(const Driver& driver) {
  std::unique_ptr<PointerCache> memories(new PointerCache());
  if (driver.whole()) memories->driver_ = driver;
  return memories;
}

MemInfo PointerCache::ask_emulated(const void* pointer) const {
  if (pointer == nullptr) return {};
  const auto location = emulated_->describe(pointer);
  if (!location.ok() || location->place != device::Place::device) return {};
  return {location->device, true};
}

MemInfo PointerCache::ask_driver(const void* pointer) const {
  unsigned type = 0, managed = 0, sync_memops = 0;
  int device = -1;
  void* context = nullptr;
  unsigned attributes[] = {kMemoryType, kIsManaged, kOrdinal, kSyncMemops, kContext};
  void* data[] = {&type, &managed, &device, &sync_memops, &context};
  if (pointer == nullptr) return {};
  const int result = driver_.ask(5, attributes, data, reinterpret_cast<std::uintptr_t>(pointer));
  if (result != 0 || type != kDeviceMemory || managed != 0) return {};
  return {device, sync_memops != 0 || set_sync_memops(pointer, context)};
}

Whereabouts PointerCache::kind_of(const void* pointer) const {
  using Kind = Whereabouts::Kind;
  if (pointer == nullptr) return {};
  if (emulated_ != nullptr) {
    const auto found = emulated_->holder(pointer);
    if (found) return *found >= 0 ? Whereabouts{Kind::device, *found} : Whereabouts{Kind::pinned};
    const int elsewhere = holder_elsewhere_ != nullptr ? holder_elsewhere_(pointer) : -1;
    return elsewhere >= 0 ? Whereabouts{Kind::device, elsewhere} : Whereabouts{};
  }
  if (driver_.ask == nullptr || is_ordinary(pointer)) return {};
  unsigned type = 0, managed = 0;
  int device = -1;
  unsigned attributes[] = {kMemoryType, kIsManaged, kOrdinal};
  void* data[] = {&type, &managed, &device};
  if (driver_.ask(3, attributes, data, reinterpret_cast<std::uintptr_t>(pointer)) != 0) return {};
  if (managed != 0) return {Kind::managed, device};
  if (type == kDeviceMemory) return {Kind::device, device};
  return {type == kHostMemory ? Kind::pinned : Kind::host};
}

bool PointerCache::set_sync_memops(const void* pointer, void* context) const {
  const unsigned yes = 1;
  if (driver_.set(&yes, kSyncMemops, reinterpret_cast<std::uintptr_t>(pointer)) != 0) return false;
  // Memory of a pool belongs to no context: what the program did to it then was in its current one.
  const bool pushed = context != nullptr && driver_.push(context) == 0;
  (void)driver_.synchronize(reinterpret_cast<void*>(kLegacy));
  if (pushed) (void)driver_.pop(&context);
  return true;
}

int PointerCache::ask(const void* pointer) const {
  const MemInfo held = emulated_ != nullptr ? ask_emulated(pointer) : ask_driver(pointer);
  if (held.device >= 0) {
    if (first_device() < 0) first_device_.store(held.device, std::memory_order_relaxed);
    latest = {pointer, held};
  } else if (first_device() >= 0 && latest.pointer == pointer) {
    // A look at what is the thread's takes some ns.
    latest.pointer = nullptr;
  }
  return held.device;
}

MemInfo PointerCache::info_of(const void* pointer) const {
  if (pointer == nullptr || latest.pointer != pointer)
    if (holder(pointer) < 0) return {};
  return latest.held;
}

Result<std::shared_ptr<device::Executor>> PointerCache::executor() {
  if (emulated_ != nullptr) return emulated_;
  const std::lock_guard lock(mutex_);
  if (executor_ == nullptr) {
    auto opened = device::open_cuda_executor();
    if (!opened) return opened.status();
    executor_ = std::move(*opened);
  }
  return executor_;
}

Result<std::shared_ptr<device::Executor>> PointerCache::executor_for_communicator(int own_thread_of) {
  return emulated_ != nullptr ? device::open_host_executor() : device::open_cuda_executor(own_thread_of);
}

void* PointerCache::allocate_emulated(int device, std::size_t bytes) {
  if (emulated_ == nullptr) return nullptr;
  auto memory = emulated_->allocate(device, bytes);
  if (!memory) return nullptr;
  void* const data = memory->data();
  const std::lock_guard lock(mutex_);
  allocated_.emplace(data, std::move(*memory));
  return data;
}

void PointerCache::free_emulated(void* data) {
  const std::lock_guard lock(mutex_);
  allocated_.erase(data);
}

}  // namespace sennit::stage
