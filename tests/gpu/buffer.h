// Memory of every kind that a CUDA program may hand to sennit, filled and checked from the host.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>

namespace sennit::gpu {

/// Ends the process with what went wrong: a test program has nobody to tell otherwise.
void must(cudaError_t error, const char* call);

class Buffer {
 public:
  /// KIND: malloc (cudaMalloc), pool (cudaMallocAsync), shared_pool (of a pool that other
  /// processes can open), vmm (cuMemCreate, exportable), segments (several cuMemCreate
  /// handles side by side, as PyTorch's expandable segments are), managed, pinned, registered (cudaHostRegister),
  /// pageable. On the current device.
  Buffer(const std::string& kind, std::uint64_t bytes);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { free_(); }

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

  /// Writes message `number` (capi::pattern) at `offset`. Returns when it is there.
  void fill(std::uint64_t offset, std::uint64_t bytes, std::uint64_t number);
  /// Index of the first byte at `offset` that is not the message's; `bytes` when all are.
  std::uint64_t first_wrong(std::uint64_t offset, std::uint64_t bytes, std::uint64_t number) const;
  /// Sets every byte to a value that no check takes for a message.
  void poison();
  /// No byte of [begin, end) was written since poison().
  bool untouched(std::uint64_t begin, std::uint64_t end) const;

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::function<void()> free_ = [] {};
};

}  // namespace sennit::gpu
