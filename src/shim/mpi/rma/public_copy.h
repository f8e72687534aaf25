// Keeps host memory that stands for a GPU's in a window, where other ranks cannot reach that: MPI calls it the public
// copy of a window of the separate memory model (MPI 4.1, 12.4).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stage/gpus.h"
#include "stage/pinned_pool.h"

namespace sennit::shim::mpi {

/// Bytes [first, last) that the other side changed.
struct Changed {
  std::size_t first, last;
};

/// Merges two memories that both were `before`: what either side changed is in both afterwards, and in `before`; of a
/// byte that both changed, what `theirs` says. Of equal length. Others may write to `theirs` meanwhile, where `mine`
/// was not changed: that is found the next time. Returns what came to `mine`, in the order of addresses; unchanged
/// bytes between may be in it.
std::vector<Changed> merge(std::span<std::byte> mine, std::span<std::byte> theirs, std::span<std::byte> before);

class PublicCopy {
 public:
  /// Makes a copy of `bytes` bytes at `gpu`, with its present contents. Errors: out_of_memory, those of a copy.
  /// `gpus` and `host` outlive it.
  static Result<std::unique_ptr<PublicCopy>> make(stage::Gpus& gpus, stage::PinnedPool& host, std::byte* gpu,
                                                  std::uint64_t bytes, int device);
  ~PublicCopy();
  PublicCopy(const PublicCopy&) = delete;
  PublicCopy& operator=(const PublicCopy&) = delete;

  /// Returns the host memory.
  void* data() const { return public_.data(); }
  /// Both are equal again when it returns, as merge() says; the whole of it is looked at. Errors: those of a copy.
  Status settle();

 private:
  PublicCopy(stage::Gpus& gpus, stage::PinnedPool& host, std::byte* gpu, std::uint64_t bytes, int device)
      : gpus_(gpus), host_(host), gpu_(gpu), bytes_(bytes), device_(device) {}

  stage::Gpus& gpus_;
  stage::PinnedPool& host_;
  std::byte* const gpu_;
  const std::uint64_t bytes_;
  const int device_;
  device::Memory public_, before_, image_;
};

}  // namespace sennit::shim::mpi
