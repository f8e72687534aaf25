#include "device/cuda/share.h"

#include <cstring>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/units.h"
#include "device/cuda/check.h"

namespace sennit::device {

namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(Shareable::handle));

/// The export of the cuMemCreate handle behind `base`, or an invalid descriptor when it is not such memory.
Result<UniqueFd> export_file(const Location& location) {
  const Driver& driver = Driver::get();
  CUmemGenericAllocationHandle handle{};
  if (driver.retain_handle == nullptr || driver.retain_handle(&handle, location.base) != CUDA_SUCCESS)
    return UniqueFd();
  CUmemAllocationProp properties{};
  int fd = -1;
  auto result = driver.handle_properties(&properties, handle);
  if (result == CUDA_SUCCESS && (properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
    result = driver.export_handle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  (void)driver.release(handle);
  if (result == CUDA_SUCCESS && fd >= 0) return UniqueFd(fd);
  return Status(
      Code::unsupported, "this GPU memory was created without a handle that other processes can open", {},
      "Create it with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR (PyTorch: do not use expandable_segments, or "
      "set TORCH_CUDA_EXPANDABLE_SEGMENTS_IPC=1)");
}

Result<Memory> map_file(const Shareable& shareable, int device) {
  const Driver& driver = Driver::get();
  if (driver.import_handle == nullptr)
    return Status(Code::unsupported, "the driver cannot import memory by file descriptor", {}, "Update the driver");
  const CurrentDevice current(device);
  (void)cudaFree(nullptr);  // the driver calls below need the device's context to exist
  CUmemGenericAllocationHandle handle{};
  auto* const fd = reinterpret_cast<void*>(static_cast<std::uintptr_t>(shareable.file.get()));
  if (auto status = check(driver.import_handle(&handle, fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                          "import a peer's memory");
      !status)
    return status;
  const std::size_t bytes = shareable.file_bytes;
  CUdeviceptr base = 0;
  auto result = driver.reserve(&base, bytes, 0, 0, 0);
  if (result == CUDA_SUCCESS) {
    result = driver.map(base, bytes, 0, handle, 0);
    if (result != CUDA_SUCCESS) (void)driver.unreserve(base, bytes);
  }
  (void)driver.release(handle);  // the mapping keeps the memory alive
  if (auto status = check(result, "map a peer's memory"); !status) return status;
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  Memory mapped(reinterpret_cast<void*>(base + shareable.offset), bytes - shareable.offset, [base, bytes](void*) {
    (void)Driver::get().unmap(base, bytes);
    (void)Driver::get().unreserve(base, bytes);
  });
  if (auto status = check(driver.set_access(base, bytes, &access, 1), "open a peer's memory"); !status) return status;
  return mapped;
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
  const CurrentDevice current(location.device);
  cudaIpcMemHandle_t handle{};
  if (cudaIpcGetMemHandle(&handle, location.base) == cudaSuccess) {
    shareable.kind = Shareable::Kind::ipc_handle;
    std::memcpy(shareable.handle.data(), &handle, sizeof handle);
    return shareable;
  }
  (void)cudaGetLastError();
  auto file = export_file(location);
  if (!file) return file.status();
  if (!file->valid())
    return Status(Code::unsupported, "this GPU memory cannot be shared with other processes", {},
                  "Memory of a cudaMallocAsync pool needs a pool with handle types; containers need a shared IPC "
                  "namespace (docker run --ipc=host); `sennit doctor` tells which it is");
  shareable.kind = Shareable::Kind::file;
  shareable.file = std::move(*file);
  shareable.file_bytes = location.bytes;
  return shareable;
}

Result<Memory> map_cuda(const Shareable& shareable, int device) {
  if (shareable.kind == Shareable::Kind::file) return map_file(shareable, device);
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
