// Implements the cuda executor: GPUs, streams and kernels.
#include "device/executor.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <span>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/units.h"
#include "device/cuda/check.h"
#include "device/cuda/exportable.h"
#include "device/cuda/lane.h"
#include "device/cuda/open.h"
#include "device/cuda/share.h"
#include "device/fault.h"
#include "device/mapped.h"

namespace sennit::device {

namespace {

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

Status cannot_pin(std::size_t bytes, cudaError_t error) {
  rlimit limit{};
  (void)getrlimit(RLIMIT_MEMLOCK, &limit);
  const std::string locked = limit.rlim_cur == RLIM_INFINITY ? "unlimited" : format_bytes(limit.rlim_cur);
  return Status(Code::out_of_memory,
                fmt::format("cannot pin {} of host memory: {}", format_bytes(bytes), cudaGetErrorString(error)),
                fmt::format("locked-memory limit: {}", locked),
                "Raise the limit (ulimit -l unlimited), free host memory, or lower SENNIT_STAGING");
}

class CudaExecutor final : public Executor {
 public:
  Status open(int own_thread_of, std::span<const Kernel> kernels) {
    int count = 0;
    if (const auto error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
      (void)cudaGetLastError();
      return Status(Code::unsupported, "no GPU answers", error == cudaSuccess ? "" : cudaGetErrorString(error),
                    "`sennit doctor` tells what is missing; SENNIT_EXECUTOR=host runs without GPUs");
    }
    for (int i = 0; i < count; ++i) {
      cudaDeviceProp properties{};
      if (auto status = check(cudaGetDeviceProperties(&properties, i), "read device properties"); !status)
        return status;
      DeviceInfo info;
      info.uuid = uuid_text(properties.uuid);
      info.pci =
          fmt::format("{:04x}:{:02x}:{:02x}.0", static_cast<unsigned>(properties.pciDomainID),
                      static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
      info.model = properties.name;
      info.memory_bytes = properties.totalGlobalMem;
      info.sm_count = properties.multiProcessorCount;
      info.copy_engines = properties.asyncEngineCount;
      devices_.push_back(info);
      most_early_threads_.push_back(most_early_threads(i));
    }
    reach_.assign(devices_.size() * devices_.size(), -1);
    if (own_thread_of >= 0) prepare_thread(own_thread_of);
    limits_ = std::make_shared<CudaLimits>(kernels);
    return {};
  }

  Kind kind() const override { return Kind::cuda; }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }

  Result<Memory> allocate(int device, std::size_t bytes) override {
    if (auto status = known(device); !status) return status;
    const CurrentDevice current(device);
    void* data = nullptr;
    if (auto status = check(cudaMalloc(&data, std::max<std::size_t>(bytes, 1)), "allocate GPU memory"); !status)
      return std::move(status).in(fmt::format("{} on gpu{}", format_bytes(bytes), device));
    return Memory(data, bytes, [device](void* pointer) {
      const CurrentDevice own(device);
      (void)cudaFree(pointer);
    });
  }

  Result<Memory> allocate_for_peers(int device, std::size_t bytes) override {
    if (auto status = known(device); !status) return status;
    auto made = create_exportable(device, bytes);
    return made.ok() ? std::move(made) : allocate(device, bytes);
  }

  Result<Memory> allocate_exportable(int device, std::size_t bytes) override {
    if (auto status = known(device); !status) return status;
    return create_exportable(device, bytes);
  }

  Result<Memory> allocate_managed(int device, std::size_t bytes) override {
    if (auto status = known(device); !status) return status;
    const CurrentDevice current(device);
    void* data = nullptr;
    if (auto status = check(cudaMallocManaged(&data, std::max<std::size_t>(bytes, 1)), "allocate managed memory");
        !status)
      return status;
    return Memory(data, bytes, [](void* at) { (void)cudaFree(at); });
  }

  Result<Memory> allocate_pinned(std::size_t bytes) override {
    void* data = nullptr;
    const auto error =
        cudaHostAlloc(&data, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable | cudaHostAllocMapped);
    if (error != cudaSuccess) {
      (void)cudaGetLastError();
      return cannot_pin(bytes, error);
    }
    return Memory(data, bytes, [](void* pointer) { (void)cudaFreeHost(pointer); });
  }

  Result<Memory> pin(void* data, std::size_t bytes) override {
    const auto error = cudaHostRegister(data, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (error != cudaSuccess) {
      (void)cudaGetLastError();
      return cannot_pin(bytes, error);
    }
    return Memory(data, bytes, [](void* pinned) { (void)cudaHostUnregister(pinned); });
  }

  void prepare_thread(int device) override {
    if (device >= 0) (void)cudaSetDevice(device);
    (void)relax_capture();
  }
  Status make_current(int device) override {
    if (auto status = known(device); !status) return status;
    return check(cudaSetDevice(device), "make a GPU the current one");
  }
  int current() override {
    int device = -1;
    if (cudaGetDevice(&device) != cudaSuccess) {
      (void)cudaGetLastError();
      return -1;
    }
    return device;
  }
  int relax_capture() override {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    return mode;
  }
  void restore_capture(int before) override {
    auto mode = static_cast<cudaStreamCaptureMode>(before);
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
  }

  using Executor::describe;
  using Executor::share;

  Result<Location> describe(const void* pointer, std::uint64_t bytes) override {
    if (pointer == nullptr)
      return Status(Code::invalid_argument, "null pointer", {}, "Pass the address of an allocation");
    if (const auto location = within_one_allocation(pointer, bytes)) return *location;
    cudaPointerAttributes attributes{};
    const auto error = cudaPointerGetAttributes(&attributes, pointer);
    if (error != cudaSuccess) (void)cudaGetLastError();
    Location location;
    if (error != cudaSuccess || attributes.type == cudaMemoryTypeUnregistered) {
      // Freed GPU memory looks like unregistered host memory to CUDA, but cannot be read.
      if (is_mapped(pointer)) return location;
      return Status(Code::invalid_argument, fmt::format("{} belongs to no allocation", pointer), {},
                    "The memory was freed, or the address belongs to another process");
    }
    location.place = attributes.type == cudaMemoryTypeDevice    ? Place::device
                     : attributes.type == cudaMemoryTypeManaged ? Place::managed
                                                                : Place::pinned;
    location.device = location.place == Place::pinned ? -1 : attributes.device;
    const auto& driver = Driver::get();
    const auto at = reinterpret_cast<CUdeviceptr>(pointer);
    // The driver answers only for the current context's allocations.
    // Pinned memory too belongs to one: the others need no context for it.
    const CurrentDevice current(std::max(attributes.device, 0));
    if (driver.address_range != nullptr) {
      CUdeviceptr base = 0, next = 0;
      std::size_t size = 0;
      if (driver.address_range(&base, &size, at) == CUDA_SUCCESS) {
        location.base = reinterpret_cast<std::byte*>(base);
        location.bytes = size;
      }
      while (size != 0 && bytes > location.bytes - (at - base) &&
             driver.address_range(&next, &size, base + location.bytes) == CUDA_SUCCESS &&
             next == base + location.bytes && same_place(next, attributes)) {
        location.bytes += size;
        ++location.allocations;
      }
    }
    unsigned long long identity = 0;
    if (driver.pointer_attribute != nullptr &&
        driver.pointer_attribute(&identity, CU_POINTER_ATTRIBUTE_BUFFER_ID, at) == CUDA_SUCCESS)
      location.identity = identity;
    return location;
  }

  std::optional<int> holder(const void* pointer) override {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
      (void)cudaGetLastError();
      return std::nullopt;
    }
    if (attributes.type == cudaMemoryTypeUnregistered) return std::nullopt;
    return attributes.type == cudaMemoryTypeHost ? -1 : attributes.device;
  }

  bool could_reach(int device, int peer) override {
    if (!may_reach(device, peer)) return false;
    if (device == peer) return true;
    int possible = 0;
    if (cudaDeviceCanAccessPeer(&possible, device, peer) != cudaSuccess) (void)cudaGetLastError();
    return possible != 0;
  }

  bool reaches(int device, int peer) override {
    if (!may_reach(device, peer)) return false;
    if (device == peer) return true;
    const std::lock_guard lock(mutex_);
    int& known = reach_[static_cast<std::size_t>(device) * devices_.size() + static_cast<std::size_t>(peer)];
    if (known >= 0) return known == 1;
    known = 0;
    if (could_reach(device, peer)) {
      const CurrentDevice current(device);
      const auto error = cudaDeviceEnablePeerAccess(peer, 0);
      known = error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled ? 1 : 0;
      (void)cudaGetLastError();
    }
    return known == 1;
  }

  Result<Shareable> share(const void* pointer, std::uint64_t bytes) override {
    auto location = describe(pointer, bytes);
    if (!location) return location.status();
    if (location->allocations > static_cast<int>(Shareable::kMostFiles))
      return Status(Code::unsupported,
                    fmt::format("{} from {} lie in {} allocations side by side, at most {} can be shared",
                                format_bytes(bytes), pointer, location->allocations, Shareable::kMostFiles),
                    {}, "Register less at a time, or memory of fewer cuMemCreate handles");
    std::string uuid;
    if (location->device >= 0) uuid = devices_[static_cast<std::size_t>(location->device)].uuid;
    return share_cuda(pointer, *location, uuid);
  }

  Result<Memory> map(const Shareable& shareable, int device) override { return map_cuda(shareable, device); }

  Result<std::unique_ptr<Lane>> lane(int device) override {
    if (auto status = known(device); !status) return status;
    const CurrentDevice current(device);
    cudaStream_t stream = nullptr;
    if (auto status = check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream"); !status)
      return status;
    return std::unique_ptr<Lane>(
        new CudaLane(device, stream, true, limits_, most_early_threads_[static_cast<std::size_t>(device)]));
  }

  Result<std::unique_ptr<Lane>> adopt(int device, void* stream) override {
    return std::unique_ptr<Lane>(new CudaLane(device, static_cast<cudaStream_t>(stream), false, limits_,
                                              most_early_threads_[static_cast<std::size_t>(device)]));
  }

  Result<std::unique_ptr<Event>> event(int device, bool timing) override {
    const CurrentDevice current(device);
    cudaEvent_t event = nullptr;
    const auto error = cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming);
    if (auto status = check(error, "create an event"); !status) return status;
    return std::unique_ptr<Event>(new CudaEvent(event));
  }

  Status load(const Program& program, int device) override {
    const void* const kernel = kernel_of(program, limits_->kernels);
    if (kernel == nullptr) return {};  // the launch tells
    const CurrentDevice current(device);
    cudaFuncAttributes attributes{};
    if (auto status = check(cudaFuncGetAttributes(&attributes, kernel), program.name); !status) return status;
    constexpr int kHopper = 90;
    if (attributes.ptxVersion < kHopper) limits_->early = false;
    return {};
  }

  // One block an SM is always resident together, whatever else the kernel uses.
  unsigned concurrent_blocks(int device) const override {
    return static_cast<unsigned>(devices_[static_cast<std::size_t>(device)].sm_count);
  }

  void set_timeout(std::chrono::nanoseconds timeout) override {
    limits_->timeout_ns = static_cast<std::uint64_t>(timeout.count());
  }
  void abort() override {
    if (limits_->abort != nullptr) std::atomic_ref(*limits_->abort).store(1, std::memory_order_release);
  }
  Status fault() const override {
    return limits_->fault == nullptr ? Status() : sennit::device::describe(*limits_->fault);
  }

 private:
  /// Returns whether `device` may use memory of `peer`: both are devices of this process, and no setting forbids it.
  bool may_reach(int device, int peer) const {
    const auto count = static_cast<int>(devices_.size());
    if (device < 0 || peer < 0 || device >= count || peer >= count) return false;
    if (device == peer) return true;
    const auto allowed = environment_switch("SENNIT_PEER");
    return !allowed.ok() || *allowed;
  }

  Status known(int device) const {
    const auto count = static_cast<int>(devices_.size());
    if (device >= 0 && device < count) return {};
    return Status(Code::invalid_argument, fmt::format("there is no device {}", device), {},
                  fmt::format("Use 0 to {}, or widen CUDA_VISIBLE_DEVICES", count - 1));
  }

  /// Returns what describe() would for most messages, in one call of the driver: GPU memory of one allocation that
  /// holds all `bytes`. Nothing else is answered: describe() then asks step by step.
  static std::optional<Location> within_one_allocation(const void* pointer, std::uint64_t bytes) {
    const auto at = reinterpret_cast<CUdeviceptr>(pointer);
    unsigned type = 0, managed = 0;
    int device = -1;
    CUdeviceptr base = 0;
    std::size_t size = 0;
    unsigned long long identity = 0;
    std::array asked{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
                     CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                     CU_POINTER_ATTRIBUTE_RANGE_SIZE,     CU_POINTER_ATTRIBUTE_BUFFER_ID};
    std::array<void*, asked.size()> answers{&type, &managed, &device, &base, &size, &identity};
    const auto ask = Driver::get().pointer_attributes;
    if (ask == nullptr || ask(asked.size(), asked.data(), answers.data(), at) != CUDA_SUCCESS) return std::nullopt;
    if (type != CU_MEMORYTYPE_DEVICE || managed != 0 || device < 0 || identity == 0) return std::nullopt;
    if (at < base || at - base > size || bytes > size - (at - base)) return std::nullopt;
    Location location;
    location.place = Place::device;
    location.device = device;
    location.base = reinterpret_cast<std::byte*>(base);
    location.bytes = size;
    location.identity = identity;
    return location;
  }

  /// Returns whether one message may cross from one allocation into another beside it.
  static bool same_place(CUdeviceptr pointer, const cudaPointerAttributes& as) {
    cudaPointerAttributes found{};
    const auto error = cudaPointerGetAttributes(&found, reinterpret_cast<const void*>(pointer));
    if (error != cudaSuccess) (void)cudaGetLastError();
    return error == cudaSuccess && found.type == as.type && found.device == as.device;
  }

  std::vector<DeviceInfo> devices_;
  std::vector<unsigned> most_early_threads_;  // by device
  std::mutex mutex_;
  std::vector<int> reach_;              // -1 unknown, 0 no, 1 yes and enabled
  std::shared_ptr<CudaLimits> limits_;  // its memory begins a context
};

}  // namespace

Result<std::shared_ptr<Executor>> open_cuda_executor(int own_thread_of, std::span<const Kernel> kernels) {
  auto executor = std::make_shared<CudaExecutor>();
  if (auto status = executor->open(own_thread_of, kernels); !status) return status;
  return std::shared_ptr<Executor>(std::move(executor));
}

}  // namespace sennit::device
