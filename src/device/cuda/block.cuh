// The primitives of device/block.h in a CUDA thread block, and the kernel that runs a block program.
#pragma once

#include <cstdint>

#include "device/block.h"

namespace sennit::device {

class CudaBlock {
 public:
  __device__ explicit CudaBlock(const Limits& limits) : limits_(limits) {}

  __device__ unsigned index() const { return blockIdx.x; }
  __device__ unsigned count() const { return gridDim.x; }

  // 1. Bytes up to the destination's next 16-byte boundary, one thread each.
  // 2. Sixteen-byte vectors, four loads in flight a thread before the first store; when source and destination
  //    differ in alignment, as wide as both allow (8, 4, or 1 byte).
  // 3. The bytes that are left.
  __device__ void copy(void* dst, const void* src, std::uint64_t bytes) {
    auto* to = static_cast<unsigned char*>(dst);
    const auto* from = static_cast<const unsigned char*>(src);
    const auto skew = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
    if ((skew & 15) == 0) return copy_as<int4>(to, from, bytes);
    if ((skew & 7) == 0) return copy_as<int2>(to, from, bytes);
    if ((skew & 3) == 0) return copy_as<int>(to, from, bytes);
    copy_as<unsigned char>(to, from, bytes);
  }

  // The barrier orders the other threads' copies before thread 0's release, which is cumulative.
  __device__ void signal(Word* word, Word value) {
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
  }

  // One thread polls; acquire at every poll costs little here, since a word is polled over PCIe or NVLink anyway.
  __device__ bool await(Word* word, Word value, Word site) {
    bool arrived = true;
    if (threadIdx.x == 0) {
      Word seen = acquire(word);
      const std::uint64_t deadline = now() + limits_.timeout_ns;
      for (unsigned spin = 1; !reached(seen, value); ++spin, seen = acquire(word)) {
        if (spin % 256 != 0) continue;  // the clock and the abort flag are looked at rarely: each costs a round trip
        const bool aborted = limits_.abort != nullptr && relaxed(limits_.abort) != 0;
        if (!aborted && now() < deadline) continue;
        give_up(aborted, site, value, seen);
        arrived = false;
        break;
      }
    }
    return __syncthreads_and(arrived) != 0;
  }

  __device__ bool await_for(Word* word, Word value, std::uint64_t ns) {
    bool arrived = true;
    if (threadIdx.x == 0) {
      const std::uint64_t deadline = now() + ns;
      while (!(arrived = reached(acquire(word), value)) && now() < deadline) {
      }
    }
    return __syncthreads_and(arrived) != 0;
  }

  __device__ void post(Word* word, Word value) {
    if (threadIdx.x == 0) asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
  }

  // Store, fence, load: with the fence on both sides one of two parties sees the other.
  __device__ bool meet(Word* mine, Word value, Word* theirs) {
    bool met = true;
    if (threadIdx.x == 0) {
      post(mine, value);
      asm volatile("fence.sc.sys;" ::: "memory");
      met = reached(acquire(theirs), value);
    }
    return __syncthreads_and(met) != 0;
  }

  __device__ bool equals(const Word* word, Word value) {
    return __syncthreads_and(threadIdx.x != 0 || acquire(word) == value) != 0;
  }

  __device__ Word load(const Word* word) const { return *word; }
  __device__ void store(Word* word, Word value) {
    if (threadIdx.x == 0) *word = value;
  }

 private:
  template <class Vector>
  __device__ static void copy_as(unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
    constexpr std::uint64_t kWidth = sizeof(Vector);
    const std::uint64_t misaligned = reinterpret_cast<std::uintptr_t>(to) % kWidth;
    std::uint64_t head = misaligned == 0 ? 0 : kWidth - misaligned;
    if (head > bytes) head = bytes;
    for (std::uint64_t i = threadIdx.x; i < head; i += blockDim.x) to[i] = __ldcv(from + i);

    auto* target = reinterpret_cast<Vector*>(to + head);
    const auto* source = reinterpret_cast<const Vector*>(from + head);
    const std::uint64_t count = (bytes - head) / kWidth;
    const std::uint64_t step = blockDim.x;
    std::uint64_t i = threadIdx.x;
    for (; i + 3 * step < count; i += 4 * step) {
      const Vector a = __ldcv(source + i);
      const Vector b = __ldcv(source + i + step);
      const Vector c = __ldcv(source + i + 2 * step);
      const Vector d = __ldcv(source + i + 3 * step);
      target[i] = a;
      target[i + step] = b;
      target[i + 2 * step] = c;
      target[i + 3 * step] = d;
    }
    for (; i < count; i += step) target[i] = __ldcv(source + i);

    for (std::uint64_t at = head + count * kWidth + threadIdx.x; at < bytes; at += blockDim.x)
      to[at] = __ldcv(from + at);
  }

  __device__ static Word acquire(const Word* word) {
    Word value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
  }
  __device__ static Word relaxed(const Word* word) {
    Word value;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
  }
  __device__ static std::uint64_t now() {
    std::uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
  }

  __device__ void give_up(bool aborted, Word site, Word expected, Word seen) {
    if (limits_.fault == nullptr || atomicCAS_system(&limits_.fault->raised, 0u, 2u) != 0) return;
    limits_.fault->aborted = aborted ? 1 : 0;
    limits_.fault->block = blockIdx.x;
    limits_.fault->site = site;
    limits_.fault->expected = expected;
    limits_.fault->seen = seen;
    limits_.fault->sequence = limits_.sequence;
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(&limits_.fault->raised), "r"(1u) : "memory");
  }

  Limits limits_;
};

template <class P>
__global__ void __launch_bounds__(kBlockThreads) run_program(P program, Limits limits) {
  CudaBlock block(limits);
  program(block);
}

}  // namespace sennit::device
