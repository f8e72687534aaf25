#include "buffer.h"

#include <cuda.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "capi_rank.h"

namespace sennit::gpu {

namespace {

constexpr int kPoison = 0xEE;
constexpr std::uint64_t kBlock = 32 << 20;

void must(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  capi::say("error {}: CUresult {}", call, int(result));
  std::_Exit(1);
}

/// A function of the driver, found at run time: the program is not linked with it.
template <class Function>
Function* driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult state{};
  gpu::must(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &state), name);
  return reinterpret_cast<Function*>(found);
}

/// One address range over `handles` allocations of the device.
std::byte* map_created(std::uint64_t bytes, std::uint64_t handles, std::function<void()>& release) {
  int device = 0;
  gpu::must(cudaGetDevice(&device), "cudaGetDevice");
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  std::size_t granularity = 0;
  must(driver<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity")(
           &granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
       "cuMemGetAllocationGranularity");
  const std::uint64_t part = (bytes / handles + granularity) / granularity * granularity;
  CUdeviceptr base = 0;
  must(driver<decltype(cuMemAddressReserve)>("cuMemAddressReserve")(&base, part * handles, 0, 0, 0),
       "cuMemAddressReserve");
  for (std::uint64_t i = 0; i < handles; ++i) {
    CUmemGenericAllocationHandle handle{};
    must(driver<decltype(cuMemCreate)>("cuMemCreate")(&handle, part, &properties, 0), "cuMemCreate");
    must(driver<decltype(cuMemMap)>("cuMemMap")(base + i * part, part, 0, handle, 0), "cuMemMap");
    must(driver<decltype(cuMemRelease)>("cuMemRelease")(handle), "cuMemRelease");
  }
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  must(driver<decltype(cuMemSetAccess)>("cuMemSetAccess")(base, part * handles, &access, 1), "cuMemSetAccess");
  release = [base, part, handles] {
    (void)driver<decltype(cuMemUnmap)>("cuMemUnmap")(base, part * handles);
    (void)driver<decltype(cuMemAddressFree)>("cuMemAddressFree")(base, part * handles);
  };
  return reinterpret_cast<std::byte*>(base);
}

}  // namespace

void must(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  capi::say("error {}: {}", call, cudaGetErrorString(error));
  std::_Exit(1);
}

Buffer::Buffer(const std::string& kind, std::uint64_t bytes) : bytes_(bytes) {
  void* data = nullptr;
  if (kind == "malloc") {
    must(cudaMalloc(&data, bytes), "cudaMalloc");
    free_ = [data] { (void)cudaFree(data); };
  } else if (kind == "pool") {
    must(cudaMallocAsync(&data, bytes, nullptr), "cudaMallocAsync");
    must(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    free_ = [data] { (void)cudaFreeAsync(data, nullptr); };
  } else if (kind == "shared_pool") {
    int device = 0;
    must(cudaGetDevice(&device), "cudaGetDevice");
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    properties.location = {cudaMemLocationTypeDevice, device};
    cudaMemPool_t pool = nullptr;
    must(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate");
    must(cudaMallocFromPoolAsync(&data, bytes, pool, nullptr), "cudaMallocFromPoolAsync");
    must(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    free_ = [data, pool] {
      (void)cudaFreeAsync(data, nullptr);
      (void)cudaStreamSynchronize(nullptr);
      (void)cudaMemPoolDestroy(pool);
    };
  } else if (kind == "managed") {
    must(cudaMallocManaged(&data, bytes), "cudaMallocManaged");
    free_ = [data] { (void)cudaFree(data); };
  } else if (kind == "pinned") {
    must(cudaMallocHost(&data, bytes), "cudaMallocHost");
    free_ = [data] { (void)cudaFreeHost(data); };
  } else if (kind == "vmm" || kind == "segments") {
    data = map_created(bytes, kind == "vmm" ? 1 : 3, free_);
  } else if (kind == "registered" || kind == "pageable") {
    data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) std::abort();
    const bool registered = kind == "registered";
    if (registered) must(cudaHostRegister(data, bytes, cudaHostRegisterDefault), "cudaHostRegister");
    free_ = [data, bytes, registered] {
      if (registered) (void)cudaHostUnregister(data);
      (void)::munmap(data, bytes);
    };
  } else {
    capi::say("error no kind of memory '{}'", kind);
    std::_Exit(1);
  }
  data_ = static_cast<std::byte*>(data);
}

namespace {

/// A copy from pageable memory returns before its bytes are in the GPU's memory, where other streams would miss them.
void settle() {
  gpu::must(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

}  // namespace

void Buffer::fill(std::uint64_t offset, std::uint64_t bytes, std::uint64_t number) {
  std::vector<std::byte> block(std::min(bytes, kBlock));
  for (std::uint64_t begin = 0; begin < bytes; begin += kBlock) {
    const std::uint64_t size = std::min(kBlock, bytes - begin);
    for (std::uint64_t i = 0; i < size; ++i) block[i] = capi::pattern(number, begin + i);
    must(cudaMemcpy(data_ + offset + begin, block.data(), size, cudaMemcpyDefault), "cudaMemcpy of a message");
  }
  settle();
}

std::uint64_t Buffer::first_wrong(std::uint64_t offset, std::uint64_t bytes, std::uint64_t number) const {
  std::vector<std::byte> block(std::min(bytes, kBlock));
  for (std::uint64_t begin = 0; begin < bytes; begin += kBlock) {
    const std::uint64_t size = std::min(kBlock, bytes - begin);
    must(cudaMemcpy(block.data(), data_ + offset + begin, size, cudaMemcpyDefault), "cudaMemcpy of a result");
    for (std::uint64_t i = 0; i < size; ++i)
      if (block[i] != capi::pattern(number, begin + i)) return begin + i;
  }
  return bytes;
}

void Buffer::poison() {
  const std::vector<std::byte> block(std::min(bytes_, kBlock), std::byte(kPoison));
  for (std::uint64_t begin = 0; begin < bytes_; begin += kBlock)
    must(cudaMemcpy(data_ + begin, block.data(), std::min(kBlock, bytes_ - begin), cudaMemcpyDefault), "poison");
  settle();
}

bool Buffer::untouched(std::uint64_t begin, std::uint64_t end) const {
  std::vector<std::byte> bytes(end - begin);
  must(cudaMemcpy(bytes.data(), data_ + begin, bytes.size(), cudaMemcpyDefault), "cudaMemcpy of a margin");
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte(kPoison); });
}

}  // namespace sennit::gpu
