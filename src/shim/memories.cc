#include "shim/memories.h"

#include <dlfcn.h>
#include <unistd.h>

namespace sennit::shim {

namespace {

// Of cuda.h, which a build without CUDA does not have; the driver's ABI is frozen.
constexpr unsigned kMemoryType = 2, kIsManaged = 8;  // CU_POINTER_ATTRIBUTE_...
constexpr unsigned kDeviceMemory = 2;                // CU_MEMORYTYPE_DEVICE
constexpr int kNotInitialized = 3;                   // CUDA_ERROR_NOT_INITIALIZED

}  // namespace

Result<std::unique_ptr<Memories>> Memories::open(bool emulate) {
  std::unique_ptr<Memories> memories(new Memories());
  if (emulate) {
    auto executor = device::open_host_executor();
    if (!executor) return executor.status();
    memories->emulated_ = std::move(*executor);
    return memories;
  }
  // The driver is loaded, not started: until the program starts CUDA, it knows no pointer.
  if (access("/dev/nvidiactl", F_OK) != 0) return memories;
  if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL))
    memories->ask_ = reinterpret_cast<Ask*>(dlsym(driver, "cuPointerGetAttributes"));
  return memories;
}

bool Memories::is_emulated(const void* pointer) const {
  if (pointer == nullptr) return false;
  const auto location = emulated_->describe(pointer);
  return location.ok() && location->place == device::Place::device;
}

bool Memories::is_cuda(const void* pointer) const {
  unsigned type = 0, managed = 0;
  unsigned attributes[] = {kMemoryType, kIsManaged};
  void* data[] = {&type, &managed};
  if (pointer == nullptr) return false;
  const int result = ask_(2, attributes, data, reinterpret_cast<std::uintptr_t>(pointer));
  if (result != kNotInitialized && !awake_.load(std::memory_order_relaxed))
    awake_.store(true, std::memory_order_relaxed);
  return result == 0 && type == kDeviceMemory && managed == 0;
}

Result<std::shared_ptr<device::Executor>> Memories::executor() {
  if (emulated_ != nullptr) return emulated_;
  const std::lock_guard lock(mutex_);
  if (executor_ == nullptr) {
    auto opened = device::open_cuda_executor();
    if (!opened) return opened.status();
    executor_ = std::move(*opened);
  }
  return executor_;
}

Result<std::shared_ptr<device::Executor>> Memories::executor_for_communicator() {
  return emulated_ != nullptr ? Result(emulated_) : device::open_cuda_executor();
}

void* Memories::allocate_emulated(int device, std::size_t bytes) {
  if (emulated_ == nullptr) return nullptr;
  auto memory = emulated_->allocate(device, bytes);
  if (!memory) return nullptr;
  void* const data = memory->data();
  const std::lock_guard lock(mutex_);
  allocated_.emplace(data, std::move(*memory));
  return data;
}

void Memories::free_emulated(void* data) {
  const std::lock_guard lock(mutex_);
  allocated_.erase(data);
}

}  // namespace sennit::shim
