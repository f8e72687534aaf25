// Implements block.reduce in a CUDA thread block.
#pragma once

#include <cstdint>

#include "device/block.h"
#include "device/cuda/instructions.cuh"

namespace sennit::device::cuda {

/// Calls use(rule) where is_fast(reduction): those have compiled loops, one for all three operators, since a factor
/// of 1 is one multiplication where kernels wait for memory. Others are looked up pack by pack.
template <class Use>
__device__ void with_fixed_rule(const Reduction& reduction, Use use) {
  if (!is_fast(reduction)) return;
  const auto with = [&]<class T>(T) { use(Fixed<rules::ScaledSum<T>>{{rules::scale_of<T>(reduction)}}); };
  if (reduction.type == Type::float32) with(float());
  if (reduction.type == Type::bfloat16) with(Bfloat16());
  if (reduction.type == Type::float16) with(Float16());
}

/// Whole packs. `operands`: in shared memory.
template <unsigned kSources, class Rule>
__device__ void reduce_packs(const Operands& operands, std::uint64_t packs, const Rule& rule, Stage stage) {
  constexpr unsigned kAtOnce = kPacksInFlight / kSources;
  const std::uint64_t step = blockDim.x;
  const unsigned sources = operands.sources < kSources ? operands.sources : kSources;
  for (std::uint64_t i = threadIdx.x; i < packs; i += kAtOnce * step) {
    Pack<16> from[kAtOnce][kMostOperands];
#pragma unroll
    for (unsigned k = 0; k < kSources; ++k) {
      const auto* const source = static_cast<const Pack<16>*>(operands.from[k]) + i;
#pragma unroll
      for (unsigned u = 0; u < kAtOnce; ++u)
        from[u][k] = load_if(k < sources && i + u * step < packs, source + u * step);
    }
#pragma unroll
    for (unsigned u = 0; u < kAtOnce; ++u) {
      if (i + u * step >= packs) break;
      const Pack<16> result = rule(from[u], sources, stage);
#pragma unroll 1
      for (unsigned k = 0; k < operands.destinations; ++k)
        store<16, 16>(static_cast<Pack<16>*>(operands.to[k]) + i + u * step, result);
    }
  }
}

/// `bytes` bytes, at most 16, in accesses as wide as every address allows.
__device__ inline Pack<16> load_some(const unsigned char* from, unsigned bytes, unsigned width) {
  if (bytes == 16 && width == 16) return load<16, 16>(from);
  if (bytes == 16 && width >= 4) return load<16, 4>(from);
  Pack<16> pack{};
#pragma unroll 1
  for (unsigned b = 0; b < bytes; ++b) reinterpret_cast<unsigned char*>(&pack)[b] = __ldcv(from + b);
  return pack;
}
__device__ inline void store_some(unsigned char* to, const Pack<16>& pack, unsigned bytes, unsigned width) {
  if (bytes == 16 && width == 16) return store<16, 16>(to, pack);
  if (bytes == 16 && width >= 4) return store<16, 4>(to, pack);
#pragma unroll 1
  for (unsigned b = 0; b < bytes; ++b) to[b] = reinterpret_cast<const unsigned char*>(&pack)[b];
}

/// Any rule, any alignment, also the last bytes: from byte `at` on. Not inlined: beside the look-up a call is
/// nothing.
__device__ __noinline__ inline void reduce_anyhow(const Operands& operands, std::uint64_t at, std::uint64_t bytes,
                                                  const Reduction& reduction, Stage stage) {
  const AnyRule rule{reduction};
  std::uintptr_t all = 0;
  for (unsigned k = 0; k < operands.sources; ++k) all |= reinterpret_cast<std::uintptr_t>(operands.from[k]);
  for (unsigned k = 0; k < operands.destinations; ++k) all |= reinterpret_cast<std::uintptr_t>(operands.to[k]);
  const unsigned width = all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 1;
  for (std::uint64_t i = at + threadIdx.x * std::uint64_t{16}; i < bytes; i += blockDim.x * std::uint64_t{16}) {
    const unsigned here = bytes - i < 16 ? static_cast<unsigned>(bytes - i) : 16;
    Pack<16> from[kMostOperands];
#pragma unroll 1
    for (unsigned k = 0; k < operands.sources; ++k)
      from[k] = load_some(static_cast<const unsigned char*>(operands.from[k]) + i, here, width);
    const Pack<16> result = rule(from, operands.sources, stage);
#pragma unroll 1
    for (unsigned k = 0; k < operands.destinations; ++k)
      store_some(static_cast<unsigned char*>(operands.to[k]) + i, result, here, width);
  }
}

/// `aligned`: all operands, to 16 bytes.
__device__ inline void reduce(const Operands& operands, bool aligned, std::uint64_t bytes, const Reduction& reduction,
                              Stage stage) {
  std::uint64_t done = 0;
  if (aligned)
    with_fixed_rule(reduction, [&](const auto& rule) {
      done = bytes / 16 * 16;
      if (operands.sources <= 2)
        reduce_packs<2>(operands, bytes / 16, rule, stage);
      else if (operands.sources <= 4)
        reduce_packs<4>(operands, bytes / 16, rule, stage);
      else
        reduce_packs<8>(operands, bytes / 16, rule, stage);
    });
  if (done < bytes) reduce_anyhow(operands, done, bytes, reduction, stage);
}

}  // namespace sennit::device::cuda
