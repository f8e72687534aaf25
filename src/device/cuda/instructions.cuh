// Wraps the few instructions that C++ has no words for.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/packet.h"

namespace sennit::device::cuda {

__device__ inline Word acquire(const Word* word) {
  Word value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
__device__ inline Word relaxed(const Word* word) {
  Word value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
__device__ inline void release(Word* word, Word value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ inline void relax(Word* word, Word value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

/// Returns the nanoseconds of a clock that all of the GPU shares; it ticks coarsely.
__device__ inline std::uint64_t now() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

// Volatile, not acquire: the tags come with the data, and acquiring at every poll costs latency.
__device__ inline Packet poll(const Packet* packet) {
  Packet got;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(got.data0), "=r"(got.tag0), "=r"(got.data1), "=r"(got.tag1)
               : "l"(packet)
               : "memory");
  return got;
}
__device__ inline void put(Packet* packet, Pack<8> data, Word tag) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(packet), "r"(data.word[0]), "r"(tag),
               "r"(data.word[1]), "r"(tag)
               : "memory");
}

/// Calls use(most) with a bound of `count` that the compiler knows: what a thread keeps of each message then lies in
/// registers, of few messages without spilling.
template <class Use>
__device__ auto with_most(unsigned count, Use use) {
  if (count <= 4) return use(std::integral_constant<unsigned, 4>{});
  return use(std::integral_constant<unsigned, kMostOperands>{});
}

/// `kBytes` bytes by loads of `kWidth`, from memory that others may have written: never from a stale cache line.
template <unsigned kBytes, unsigned kWidth>
__device__ Pack<kBytes> load(const void* from) {
  using Wide = std::conditional_t<
      kWidth == 16, uint4,
      std::conditional_t<kWidth == 8, uint2, std::conditional_t<kWidth == 4, std::uint32_t, std::uint8_t>>>;
  Wide part[kBytes / kWidth];
#pragma unroll
  for (unsigned i = 0; i < kBytes / kWidth; ++i) part[i] = __ldcv(static_cast<const Wide*>(from) + i);
  Pack<kBytes> pack;
  std::memcpy(&pack, part, kBytes);
  return pack;
}
template <unsigned kBytes, unsigned kWidth>
__device__ void store(void* to, const Pack<kBytes>& pack) {
  using Wide = std::conditional_t<
      kWidth == 16, uint4,
      std::conditional_t<kWidth == 8, uint2, std::conditional_t<kWidth == 4, std::uint32_t, std::uint8_t>>>;
  Wide part[kBytes / kWidth];
  std::memcpy(part, &pack, kBytes);
#pragma unroll
  for (unsigned i = 0; i < kBytes / kWidth; ++i) static_cast<Wide*>(to)[i] = part[i];
}

/// Loads a pack, if it is there. Never just a pack left as it was: it would live from one round of a loop to the
/// next, in the thread's memory, and every load would be waited for in order to put it there.
__device__ inline Pack<16> load_if(bool there, const Pack<16>* from) {
  Pack<16> pack{};
  if (there) pack = load<16, 16>(from);
  return pack;
}

/// Packs of 16 bytes that a thread has in flight: 32 registers of its 64, and none spilled.
constexpr unsigned kPacksInFlight = 8;

}  // namespace sennit::device::cuda
