// The primitives of device/block.h in a CUDA thread block, and the kernel that runs a block program.
#pragma once

#include <cstdint>

#include "device/block.h"
#include "device/cuda/instructions.cuh"
#include "device/cuda/packets.cuh"
#include "device/cuda/reduce.cuh"

namespace sennit::device {

class CudaBlock {
 public:
  __device__ explicit CudaBlock(const Limits& limits) : limits_(limits) {}

  __device__ unsigned index() const { return blockIdx.x; }
  __device__ unsigned count() const { return gridDim.x; }

  // 1. Bytes up to the destination's next 16-byte boundary, one thread each.
  // 2. Sixteen-byte vectors, several loads in flight a thread before the first store; when source and destination
  //    differ in alignment, as wide as both allow (8, 4, or 1 byte).
  // 3. The bytes that are left.
  __device__ void copy(void* dst, const void* src, std::uint64_t bytes, Flight flight = Flight::some) {
    if (flight == Flight::much)
      copy_with<Flight::much>(dst, src, bytes);
    else
      copy_with<Flight::some>(dst, src, bytes);
  }

  // The barrier orders the other threads' copies before thread 0's release, which is cumulative.
  __device__ void signal(Word* word, Word value) {
    __syncthreads();
    if (threadIdx.x == 0) cuda::release(word, value);
  }
  template <class T>
  __device__ T& shared() {
    static_assert(sizeof(T) <= kSharedBytes);
    __shared__ alignas(16) unsigned char memory[kSharedBytes];
    return *reinterpret_cast<T*>(memory);
  }
  template <class Call>
  __device__ void each(unsigned count, Call call) {
    if (threadIdx.x < count) call(threadIdx.x);
  }
  template <class Ask>
  __device__ void signal_each(unsigned count, Ask ask) {
    __syncthreads();
    if (threadIdx.x >= count) return;
    if (const Signal one = ask(threadIdx.x); one.word != nullptr) cuda::release(one.word, one.value);
  }

  // One thread polls.
  __device__ bool await(Word* word, Word value, Word site) {
    return __syncthreads_and(threadIdx.x != 0 || reach(word, value, site, -1)) != 0;
  }
  template <class Ask>
  __device__ bool await_each(unsigned count, Ask ask) {
    bool arrived = true;
    if (threadIdx.x < count)
      if (const Wait one = ask(threadIdx.x); one.word != nullptr)
        arrived = reach(one.word, one.value, one.site, one.peer);
    return __syncthreads_and(arrived) != 0;
  }

  __device__ bool await_for(Word* word, Word value, std::uint64_t ns) {
    bool arrived = true;
    if (threadIdx.x == 0) {
      const std::uint64_t deadline = cuda::now() + ns;
      while (!(arrived = reached(cuda::acquire(word), value)) && cuda::now() < deadline) {
      }
    }
    return __syncthreads_and(arrived) != 0;
  }

  __device__ void post(Word* word, Word value) {
    if (threadIdx.x == 0) cuda::relax(word, value);
  }

  // Store, fence, load: with the fence on both sides one of two parties sees the other.
  __device__ bool meet(Word* mine, Word value, Word* theirs) {
    bool met = true;
    if (threadIdx.x == 0) {
      post(mine, value);
      asm volatile("fence.sc.sys;" ::: "memory");
      met = reached(cuda::acquire(theirs), value);
    }
    return __syncthreads_and(met) != 0;
  }

  __device__ bool equals(const Word* word, Word value) {
    return __syncthreads_and(threadIdx.x != 0 || cuda::acquire(word) == value) != 0;
  }

  template <class Count>
  __device__ Count load(const Count* count) const {
    return *count;
  }
  template <class Count>
  __device__ void store(Count* count, Count value) {
    if (threadIdx.x == 0) *count = value;
  }

  __device__ void reduce(const Operands& operands, std::uint64_t bytes, const Reduction& reduction, Stage stage) {
    cuda::reduce(operands, bytes, reduction, stage);
  }

  template <class Message>
  __device__ void send_packets(unsigned count, Message message, PacketUse use) {
    cuda::with_most(count, [&](auto most) { cuda::send_packets<decltype(most)::value>(count, message, use); });
  }
  template <class Message>
  __device__ bool receive_packets(unsigned count, Message message, PacketUse use, Word site) {
    const Patience patience{*this, site};
    const bool arrived = cuda::with_most(count, [&](auto most) {
      return cuda::receive_packets<decltype(most)::value>(count, message, use, patience);
    });
    return __syncthreads_and(arrived) != 0;
  }
  template <class Source, class Taker>
  __device__ bool reduce_packets(const PacketReduce& reduce, Source source, Taker taker, PacketUse use, Word site,
                                 const Reduction& reduction, Stage stage) {
    bool arrived = true, fixed = false;
    const Patience patience{*this, site};
    cuda::with_fixed_rule(reduction, [&](const auto& rule) {
      arrived = cuda::with_most(reduce.sources, [&](auto most) {
        return cuda::reduce_packets<decltype(most)::value>(reduce, source, taker, use, patience, rule, stage);
      });
      fixed = true;
    });
    if (!fixed)
      arrived = cuda::reduce_packets<kMostOperands>(reduce, source, taker, use, patience, AnyRule{reduction}, stage);
    return __syncthreads_and(arrived) != 0;
  }

 private:
  // Not inlined: a call is nothing beside memory, and programs copy in many places.
  template <Flight kFlight>
  __device__ static __noinline__ void copy_with(void* dst, const void* src, std::uint64_t bytes) {
    auto* to = static_cast<unsigned char*>(dst);
    const auto* from = static_cast<const unsigned char*>(src);
    const auto skew = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
    if ((skew & 15) == 0) return copy_as<kFlight, int4>(to, from, bytes);
    if ((skew & 7) == 0) return copy_as<kFlight, int2>(to, from, bytes);
    if ((skew & 3) == 0) return copy_as<kFlight, int>(to, from, bytes);
    copy_as<kFlight, unsigned char>(to, from, bytes);
  }

  template <Flight kFlight, class Vector>
  __device__ static void copy_as(unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
    constexpr std::uint64_t kWidth = sizeof(Vector);
    const std::uint64_t misaligned = reinterpret_cast<std::uintptr_t>(to) % kWidth;
    std::uint64_t head = misaligned == 0 ? 0 : kWidth - misaligned;
    if (head > bytes) head = bytes;
    for (std::uint64_t i = threadIdx.x; i < head; i += blockDim.x) to[i] = __ldcv(from + i);

    auto* target = reinterpret_cast<Vector*>(to + head);
    const auto* source = reinterpret_cast<const Vector*>(from + head);
    const std::uint64_t count = (bytes - head) / kWidth;
    // Much: eight, also of the last few. Some: four, and the last few one by one.
    constexpr unsigned kAtOnce = kFlight == Flight::much ? 8 : 4;
    constexpr bool kLastToo = kFlight == Flight::much;
    const std::uint64_t step = blockDim.x;
    std::uint64_t i = threadIdx.x;
    for (; kLastToo ? i < count : i + (kAtOnce - 1) * step < count; i += kAtOnce * step) {
      Vector moving[kAtOnce];
#pragma unroll
      for (unsigned u = 0; u < kAtOnce; ++u)
        if (!kLastToo || i + u * step < count) moving[u] = __ldcv(source + i + u * step);
#pragma unroll
      for (unsigned u = 0; u < kAtOnce; ++u)
        if (!kLastToo || i + u * step < count) target[i + u * step] = moving[u];
    }
    for (; i < count; i += step) target[i] = __ldcv(source + i);

    for (std::uint64_t at = head + count * kWidth + threadIdx.x; at < bytes; at += blockDim.x)
      to[at] = __ldcv(from + at);
  }

  /// A thread's wait for its word.
  __device__ bool reach(Word* word, Word value, Word site, int peer) {
    Word seen = cuda::acquire(word);
    if (reached(seen, value)) return true;
    const Patience patience{*this, site};
    // Relaxed: an acquire empties the cache of all blocks of the SM.
    for (unsigned spin = 1; !reached(seen, value); ++spin, seen = cuda::relaxed(word))
      if (spin % Patience::kSpins == 0 && patience(value, seen, peer)) return false;
    cuda::acquire(word);
    return true;
  }
  /// How long a thread polls. It looks at the clock now and then, and rarely at the abort flag: that is in the host's
  /// memory, and tens of thousands of threads that read it at the same time wait for it for up to 2 ms. Once they did
  /// so after every 512 polls: a rank that had waited so long was then late itself, and the next one had to wait (2 ×
  /// H200, ranks that start 300 µs apart: an allreduce of 1 MiB took 2200 instead of 11 µs, and so did all after it).
  struct Patience {
    static constexpr unsigned kSpins = 512;
    static constexpr std::uint64_t kLookNs = 1 << 23;  ///< between looks at the flag: 8 ms, a default
    CudaBlock& block;
    Word site;
    mutable std::uint64_t start = 0, look = 0;
    __device__ bool operator()(Word expected, Word seen, int peer) const {
      const std::uint64_t now = cuda::now();
      if (start == 0) {
        start = now;
        // Threads that began together look at different times.
        const unsigned place = (blockIdx.x * blockDim.x + threadIdx.x) * 0x9E3779B1u >> 16;
        look = now + place * (kLookNs >> 16);
      }
      const bool late = now - start >= block.limits_.timeout_ns;
      if (!late && now < look) return false;
      look = now + kLookNs;
      const bool aborted = block.limits_.abort != nullptr && cuda::relaxed(block.limits_.abort) != 0;
      if (!aborted && !late) return false;
      block.give_up(aborted, site, expected, seen, peer);
      return true;
    }
  };

  __device__ void give_up(bool aborted, Word site, Word expected, Word seen, int peer) {
    if (limits_.fault == nullptr || atomicCAS_system(&limits_.fault->raised, 0u, 2u) != 0) return;
    limits_.fault->aborted = aborted ? 1 : 0;
    limits_.fault->block = blockIdx.x;
    limits_.fault->site = site;
    limits_.fault->expected = expected;
    limits_.fault->seen = seen;
    limits_.fault->sequence = limits_.sequence;
    limits_.fault->peer = static_cast<Word>(peer + 1);
    cuda::release(&limits_.fault->raised, 1);
  }

  Limits limits_;
};

// Arguments stay where the launch put them: a program that picks a rank's address by number would otherwise have all
// of them copied for each thread.
template <class P>
__global__ void __launch_bounds__(kBlockThreads)
    run_program(const __grid_constant__ P program, const __grid_constant__ Limits limits) {
  CudaBlock block(limits);
  program(block);
}

}  // namespace sennit::device
