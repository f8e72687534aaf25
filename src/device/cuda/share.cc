#include "device/cuda/share.h"

#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/units.h"
#include "device/cuda/check.h"

namespace sennit::device {

namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(Shareable::handle));
static_assert(sizeof(cudaMemPoolPtrExportData) == sizeof(Shareable::handle));

/// A cuMemCreate handle, held while it is worked on; mappings of it keep the memory alive by themselves.
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (value_ != 0) (void)Driver::get().release(value_);
  }
  CUmemGenericAllocationHandle* out() { return &value_; }
  CUmemGenericAllocationHandle get() const { return value_; }

 private:
  CUmemGenericAllocationHandle value_ = 0;
};

/// Returns exports of the cuMemCreate handles that lie side by side in `location`; empty when it is not such memory.
Result<std::vector<Shareable::File>> export_handles(const Location& location) {
  const Driver& driver = Driver::get();
  std::vector<Shareable::File> files;
  if (driver.retain_handle == nullptr || driver.address_range == nullptr) return files;
  for (std::uint64_t at = 0; at < location.bytes;) {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    const auto address = reinterpret_cast<CUdeviceptr>(location.base) + at;
    Handle handle;
    if (driver.retain_handle(handle.out(), reinterpret_cast<void*>(address)) != CUDA_SUCCESS) return files;
    if (auto status = check(driver.address_range(&base, &bytes, address), "find an allocation's size"); !status)
      return status;
    CUmemAllocationProp properties{};
    int fd = -1;
    auto result = driver.handle_properties(&properties, handle.get());
    if (result == CUDA_SUCCESS && (properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
      result = driver.export_handle(&fd, handle.get(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS || fd < 0)
      return Status(
          Code::unsupported, "this GPU memory was created without a handle that other processes can open", {},
          "Create it with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR (PyTorch: do not use expandable_segments, or "
          "set TORCH_CUDA_EXPANDABLE_SEGMENTS_IPC=1)");
    files.push_back({UniqueFd(fd), bytes});
    at += bytes;
  }
  return files;
}

/// Exports the pool of `location`, and in `data` where in it; empty where the memory is of no pool, or of one that
/// was created for its own process alone.
Result<std::vector<Shareable::File>> export_pool(const Location& location, cudaMemPoolPtrExportData& data) {
  const Driver& driver = Driver::get();
  std::vector<Shareable::File> files;
  CUmemoryPool pool = nullptr;
  if (driver.pointer_attribute == nullptr ||
      driver.pointer_attribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                               reinterpret_cast<CUdeviceptr>(location.base)) != CUDA_SUCCESS ||
      pool == nullptr)
    return files;
  int fd = -1;
  if (cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0) != cudaSuccess) {
    (void)cudaGetLastError();
    return Status(Code::unsupported, "this GPU memory is of a cudaMallocAsync pool that other processes cannot open",
                  {}, "Create the pool with cudaMemHandleTypePosixFileDescriptor, or use cudaMalloc");
  }
  files.push_back({UniqueFd(fd), 0});
  if (auto status = check(cudaMemPoolExportPointer(&data, location.base), "export memory of a pool"); !status)
    return status;
  return files;
}

/// Returns whether the memory may have a handle of the driver's own. Asked first, as tools report calls of CUDA that
/// fail.
bool may_have_ipc_handle(const Location& location) {
  int capable = 1;
  const Driver& driver = Driver::get();
  if (driver.pointer_attribute != nullptr &&
      driver.pointer_attribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                               reinterpret_cast<CUdeviceptr>(location.base)) != CUDA_SUCCESS)
    capable = 1;
  return location.allocations == 1 && capable != 0;
}

Status map_handle(const Shareable::File& file, CUdeviceptr at) {
  const Driver& driver = Driver::get();
  Handle handle;
  auto* const fd = reinterpret_cast<void*>(static_cast<std::uintptr_t>(file.fd.get()));
  if (auto status = check(driver.import_handle(handle.out(), fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                          "import a peer's memory");
      !status)
    return status;
  return check(driver.map(at, file.bytes, 0, handle.get(), 0), "map a peer's memory");
}

Result<Memory> map_files(const Shareable& shareable, int device) {
  const Driver& driver = Driver::get();
  if (driver.import_handle == nullptr)
    return Status(Code::unsupported, "the driver cannot import memory by file descriptor", {}, "Update the driver");
  const CurrentDevice current(device);
  (void)cudaFree(nullptr);  // the driver calls below need the device's context to exist
  std::size_t bytes = 0;
  for (const Shareable::File& file : shareable.files) bytes += file.bytes;
  if (shareable.offset >= bytes)
    return Status(Code::corrupt, "a peer's memory is smaller than announced", {}, "Restart the job");
  CUdeviceptr base = 0;
  if (auto status = check(driver.reserve(&base, bytes, 0, 0, 0), "reserve addresses for a peer's memory"); !status)
    return status;
  std::size_t mapped = 0;
  Status status;
  for (const Shareable::File& file : shareable.files) {
    status = map_handle(file, base + mapped);
    if (!status.ok()) break;
    mapped += file.bytes;
  }
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (status.ok()) status = check(driver.set_access(base, bytes, &access, 1), "open a peer's memory");
  if (status.ok())
    return Memory(reinterpret_cast<void*>(base + shareable.offset), bytes - shareable.offset, [base, bytes](void*) {
      (void)Driver::get().unmap(base, bytes);
      (void)Driver::get().unreserve(base, bytes);
    });
  if (mapped != 0) (void)driver.unmap(base, mapped);
  (void)driver.unreserve(base, bytes);
  return status;
}

Result<Memory> map_pool(const Shareable& shareable, int device) {
  if (shareable.files.empty())
    return Status(Code::corrupt, "a peer's memory came without its pool", {}, "Restart the job");
  const CurrentDevice current(device);
  cudaMemPool_t imported = nullptr;
  auto* const fd = reinterpret_cast<void*>(static_cast<std::uintptr_t>(shareable.files.front().fd.get()));
  if (auto status =
          check(cudaMemPoolImportFromShareableHandle(&imported, fd, cudaMemHandleTypePosixFileDescriptor, 0),
                "import a peer's memory pool");
      !status)
    return status;
  Memory pool(imported, 0, [](void* one) { (void)cudaMemPoolDestroy(static_cast<cudaMemPool_t>(one)); });
  cudaMemAccessDesc access{};
  access.location = {cudaMemLocationTypeDevice, device};
  access.flags = cudaMemAccessFlagsProtReadWrite;
  if (auto status = check(cudaMemPoolSetAccess(imported, &access, 1), "open a peer's memory pool"); !status)
    return status;
  cudaMemPoolPtrExportData data{};
  std::memcpy(&data, shareable.handle.data(), sizeof data);
  void* base = nullptr;
  if (auto status = check(cudaMemPoolImportPointer(&base, imported, &data), "map memory of a peer's pool"); !status)
    return status;
  // The pool ends after what lies in it.
  auto kept = std::make_shared<Memory>(std::move(pool));
  return Memory(static_cast<std::byte*>(base) + shareable.offset, 0, [base, device, kept](void*) {
    const CurrentDevice own(device);
    (void)cudaFree(base);
  });
}

}  // namespace

Result<Shareable> share_cuda(const void* pointer, const Location& location, const std::string& uuid) {
  if (const auto allowed = environment_switch("SENNIT_IPC"); allowed.ok() && !*allowed)
    return Status(Code::unsupported, "sharing GPU memory between processes is switched off", "SENNIT_IPC=0",
                  "Unset SENNIT_IPC");
  if (location.place != Place::device)
    return Status(Code::unsupported, fmt::format("{} is not GPU memory", pointer), {},
                  "Register memory from cudaMalloc or cuMemCreate; host memory cannot be a target of put and get");
  Shareable shareable;
  shareable.offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(pointer) - location.base);
  shareable.identity = location.identity;
  shareable.device = uuid;
  shareable.process = this_process();
  shareable.address = static_cast<std::byte*>(const_cast<void*>(pointer));
  const CurrentDevice current(location.device);
  cudaIpcMemHandle_t handle{};
  if (may_have_ipc_handle(location) && cudaIpcGetMemHandle(&handle, location.base) == cudaSuccess) {
    shareable.kind = Shareable::Kind::ipc_handle;
    std::memcpy(shareable.handle.data(), &handle, sizeof handle);
    return shareable;
  }
  (void)cudaGetLastError();
  if (location.allocations > 1) shareable.identity = 0;  // the first one's would stand for the others
  cudaMemPoolPtrExportData data{};
  auto pool = export_pool(location, data);
  if (!pool) return pool.status();
  if (!pool->empty()) {
    shareable.kind = Shareable::Kind::pool;
    shareable.files = std::move(*pool);
    std::memcpy(shareable.handle.data(), &data, sizeof data);
    return shareable;
  }
  auto files = export_handles(location);
  if (!files) return files.status();
  if (files->empty())
    return Status(Code::unsupported, "this GPU memory cannot be shared with other processes", {},
                  "Containers need a shared IPC namespace (docker run --ipc=host); `sennit doctor` tells");
  shareable.kind = Shareable::Kind::files;
  shareable.files = std::move(*files);
  return shareable;
}

Result<Memory> map_cuda(const Shareable& shareable, int device) {
  // Memory of another rank of this process needs peer access alone: the driver would refuse to map it. Other kinds of
  // memory are opened to each device, and can be mapped again.
  const bool is_ours = shareable.process != 0 && shareable.process == this_process();
  if (is_ours && shareable.kind == Shareable::Kind::ipc_handle) return Memory(shareable.address, 0, nullptr);
  if (shareable.kind == Shareable::Kind::files) return map_files(shareable, device);
  if (shareable.kind == Shareable::Kind::pool) return map_pool(shareable, device);
  const CurrentDevice current(device);
  cudaIpcMemHandle_t handle{};
  std::memcpy(&handle, shareable.handle.data(), sizeof handle);
  void* base = nullptr;
  const auto error = cudaIpcOpenMemHandle(&base, handle, cudaIpcMemLazyEnablePeerAccess);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    return Status(Code::unsupported, fmt::format("cannot open a peer's GPU memory: {}", cudaGetErrorString(error)),
                  fmt::format("CUDA error {}", static_cast<int>(error)),
                  "Containers need a shared IPC namespace (docker run --ipc=host) and the same GPUs visible; `sennit "
                  "doctor` checks both");
  }
  return Memory(static_cast<std::byte*>(base) + shareable.offset, 0, [base, device](void*) {
    const CurrentDevice own(device);
    (void)cudaIpcCloseMemHandle(base);
  });
}

}  // namespace sennit::device
