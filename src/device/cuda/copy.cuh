// Implements block.copy and block.copy_each in a CUDA thread block. Loads are in flight, as many as registers allow,
// before the first store: the latency of memory, or of a link, is then paid once and not once a message.
#pragma once

#include <cstdint>

#include "device/block.h"
#include "device/cuda/instructions.cuh"

namespace sennit::device::cuda {

/// Returns whether the copy can move packs: both of its addresses are aligned to 16 bytes.
__device__ inline bool is_aligned(const Copy& one) {
  return (reinterpret_cast<std::uintptr_t>(one.to) | reinterpret_cast<std::uintptr_t>(one.from)) % 16 == 0;
}

// 1. Bytes up to the destination's next boundary, one thread each.
// 2. Vectors as wide as both addresses allow.
// 3. The bytes that are left.
template <class Vector>
__device__ void copy_as(unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
  constexpr std::uint64_t kWidth = sizeof(Vector);
  const std::uint64_t misaligned = reinterpret_cast<std::uintptr_t>(to) % kWidth;
  std::uint64_t head = misaligned == 0 ? 0 : kWidth - misaligned;
  if (head > bytes) head = bytes;
  for (std::uint64_t i = threadIdx.x; i < head; i += blockDim.x) to[i] = __ldcv(from + i);
  auto* const target = reinterpret_cast<Vector*>(to + head);
  const auto* const source = reinterpret_cast<const Vector*>(from + head);
  const std::uint64_t count = (bytes - head) / kWidth, step = blockDim.x;
  std::uint64_t i = threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    Vector moving[4];
#pragma unroll
    for (unsigned u = 0; u < 4; ++u) moving[u] = __ldcv(source + i + u * step);
#pragma unroll
    for (unsigned u = 0; u < 4; ++u) target[i + u * step] = moving[u];
  }
  for (; i < count; i += step) target[i] = __ldcv(source + i);
  for (std::uint64_t at = head + count * kWidth + threadIdx.x; at < bytes; at += blockDim.x)
    to[at] = __ldcv(from + at);
}

// The function is not inlined: it is rare, and programs copy in many places.
__device__ __noinline__ inline void copy_anyhow(void* dst, const void* src, std::uint64_t bytes) {
  auto* const to = static_cast<unsigned char*>(dst);
  const auto* const from = static_cast<const unsigned char*>(src);
  const auto skew = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  if ((skew & 15) == 0) return copy_as<int4>(to, from, bytes);
  if ((skew & 7) == 0) return copy_as<int2>(to, from, bytes);
  if ((skew & 3) == 0) return copy_as<int>(to, from, bytes);
  copy_as<unsigned char>(to, from, bytes);
}

/// Copies the bytes behind the last whole pack.
__device__ inline void copy_rest(void* dst, const void* src, std::uint64_t bytes) {
  const std::uint64_t at = bytes / 16 * 16 + threadIdx.x;
  if (at < bytes) static_cast<unsigned char*>(dst)[at] = __ldcv(static_cast<const unsigned char*>(src) + at);
}

__device__ inline void copy(void* dst, const void* src, std::uint64_t bytes) {
  if (!is_aligned({dst, src, bytes})) return copy_anyhow(dst, src, bytes);
  auto* const to = static_cast<Pack<16>*>(dst);
  const auto* const from = static_cast<const Pack<16>*>(src);
  const std::uint64_t packs = bytes / 16, step = blockDim.x;
  for (std::uint64_t i = threadIdx.x; i < packs; i += kPacksInFlight * step) {
    Pack<16> moving[kPacksInFlight];
#pragma unroll
    for (unsigned u = 0; u < kPacksInFlight; ++u) moving[u] = load_if(i + u * step < packs, from + i + u * step);
#pragma unroll
    for (unsigned u = 0; u < kPacksInFlight; ++u)
      if (i + u * step < packs) store<16, 16>(to + i + u * step, moving[u]);
  }
  copy_rest(dst, src, bytes);
}

/// `copies`: in shared memory, where they take no registers. All aligned.
__device__ inline void copy_each(const Copy* copies, unsigned count) {
  if (count == 1) return copy(copies->to, copies->from, copies->bytes);
  constexpr unsigned kTogether = 4, kOfEach = kPacksInFlight / kTogether;
  const std::uint64_t step = blockDim.x;
  for (unsigned first = 0; first < count; first += kTogether) {
    std::uint64_t most = 0;
#pragma unroll
    for (unsigned k = 0; k < kTogether; ++k)
      if (first + k < count && copies[first + k].bytes > most) most = copies[first + k].bytes;
    for (std::uint64_t i = threadIdx.x; i < most / 16; i += kOfEach * step) {
      Pack<16> moving[kTogether][kOfEach];
#pragma unroll
      for (unsigned k = 0; k < kTogether; ++k) {
        const Copy& one = copies[first + k];
        const std::uint64_t packs = first + k < count ? one.bytes / 16 : 0;
#pragma unroll
        for (unsigned u = 0; u < kOfEach; ++u)
          moving[k][u] = load_if(i + u * step < packs, static_cast<const Pack<16>*>(one.from) + i + u * step);
      }
#pragma unroll
      for (unsigned k = 0; k < kTogether; ++k) {
        if (first + k >= count) break;
        const Copy& one = copies[first + k];
#pragma unroll
        for (unsigned u = 0; u < kOfEach; ++u)
          if (i + u * step < one.bytes / 16)
            store<16, 16>(static_cast<Pack<16>*>(one.to) + i + u * step, moving[k][u]);
      }
    }
  }
  for (unsigned k = 0; k < count; ++k) copy_rest(copies[k].to, copies[k].from, copies[k].bytes);
}

}  // namespace sennit::device::cuda
