// Allocates the memories of a rank: its GPU's, real or emulated, ordinary host memory and pinned.
#pragma once

#include <memory>
#include <string>

#include "device/executor.h"

namespace sennit::bench::mpi {

class Memories {
 public:
  /// Makes the memories of a rank that needs no GPU.
  static std::unique_ptr<Memories> of_host();
  /// Makes the memories of GPU number `index` of those that this process sees, counted round; it becomes the current
  /// one. With SENNIT_EMULATE memory of the host executor stands for it. Errors: unsupported where no GPU answers.
  static Result<std::unique_ptr<Memories>> of_gpu(int index);

  /// Null where nothing of a GPU is wanted.
  device::Executor* executor() const { return executor_.get(); }
  bool emulated() const { return emulated_; }
  /// UUID of the GPU; empty without one.
  std::string gpu() const;
  /// Returns the GPU's PCI address; empty without a GPU.
  std::string pci() const;

  /// Allocates whole pages, each touched. Errors: out_of_memory.
  Result<device::Memory> allocate(bool on_gpu, std::uint64_t bytes);
  Result<device::Memory> allocate_pinned(std::uint64_t bytes);
  /// Errors also: unsupported where GPUs are emulated.
  Result<device::Memory> allocate_managed(std::uint64_t bytes);

  /// Begins a copy between any of them; done after wait().
  Status begin_copy(void* dst, const void* src, std::uint64_t bytes);
  Status wait();
  /// Returns the cudaStream_t of those copies, for other libraries' work; null without a GPU, or with an emulated
  /// one.
  void* stream() const;
  Status copy(void* dst, const void* src, std::uint64_t bytes);

 private:
  Memories() = default;

  std::shared_ptr<device::Executor> executor_;
  std::unique_ptr<device::Lane> lane_;
  int device_ = 0;
  bool emulated_ = false;
};

}  // namespace sennit::bench::mpi
