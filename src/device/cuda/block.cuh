// Implements the primitives of device/block.h in a CUDA thread block, and the kernel that runs a block program.
#pragma once

#include <cstdint>

#include "device/block.h"
#include "device/cuda/copy.cuh"
#include "device/cuda/instructions.cuh"
#include "device/cuda/packets.cuh"
#include "device/cuda/reduce.cuh"

namespace sennit::device {

class CudaBlock {
 public:
  __device__ explicit CudaBlock(const Limits& limits) : limits_(limits) {}

  __device__ unsigned index() const { return blockIdx.x; }
  __device__ unsigned count() const { return gridDim.x; }

  __device__ void copy(void* dst, const void* src, std::uint64_t bytes) { cuda::copy(dst, src, bytes); }
  // Each message is asked for by a thread of its own.
  template <class Message>
  __device__ void copy_each(unsigned count, Message message) {
    auto& copies = shared_by_block<Copy[kMostOperands], Message>();
    __syncthreads();  // the use before is over
    bool aligned = true;
    if (threadIdx.x < count) {
      copies[threadIdx.x] = message(threadIdx.x);
      aligned = cuda::is_aligned(copies[threadIdx.x]) || copies[threadIdx.x].bytes == 0;
    }
    if (__syncthreads_and(aligned)) return cuda::copy_each(copies, count);
    for (unsigned k = 0; k < count; ++k) cuda::copy(copies[k].to, copies[k].from, copies[k].bytes);
  }

  // The barrier orders the other threads' copies before thread 0's release, which is cumulative.
  __device__ void signal(Word* word, Word value) {
    __syncthreads();
    if (threadIdx.x == 0) cuda::release(word, value);
  }
  template <class T>
  __device__ T& shared() {
    static_assert(sizeof(T) <= kSharedBytes);
    return shared_by_block<T, CudaBlock>();
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
  __device__ bool await(Word* word, Word value, Word wait_id) {
    return __syncthreads_and(threadIdx.x != 0 || reach(word, value, wait_id, -1)) != 0;
  }
  template <class Ask>
  __device__ bool await_each(unsigned count, Ask ask) {
    bool arrived = true;
    if (threadIdx.x < count)
      if (const Wait one = ask(threadIdx.x); one.word != nullptr)
        arrived = reach(one.word, one.value, one.wait_id, one.peer);
    return __syncthreads_and(arrived) != 0;
  }

  // A warp polls, each thread a word of its own.
  template <class Ask>
  __device__ std::uint32_t await_any(unsigned count, Ask ask) {
    constexpr std::uint32_t kWarp = ~0u;
    auto& over = shared_by_block<std::uint32_t, Ask>();
    __syncthreads();  // the use before is over
    if (threadIdx.x < 32) {
      const Wait one = threadIdx.x < count ? ask(threadIdx.x) : Wait{};
      const bool asks = one.word != nullptr;
      const std::uint32_t asking = __ballot_sync(kWarp, asks);
      const bool is_first = asks && (asking & ((1u << threadIdx.x) - 1)) == 0;  // for the clock, and for a fault
      const Patience patience{*this, one.wait_id};
      std::uint32_t reached_now = 0;
      bool goes_on = asking != 0;
      for (unsigned spin = 1; goes_on; ++spin) {
        const Word seen = asks ? cuda::relaxed(one.word) : 0;
        reached_now = __ballot_sync(kWarp, asks && reached(seen, one.value));
        if (reached_now != 0) break;
        const bool looks = spin % Patience::kSpins == 0 && is_first;
        goes_on = !__any_sync(kWarp, looks && patience(one.value, seen, one.peer));
      }
      if ((reached_now >> threadIdx.x & 1) != 0) cuda::acquire(one.word);
      if (threadIdx.x == 0) over = reached_now;
    }
    __syncthreads();
    return over;
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

  __device__ bool sound() const { return __syncthreads_and(threadIdx.x != 0 || !has_fault()) != 0; }

  template <class Count>
  __device__ Count load(const Count* count) const {
    return *count;
  }
  template <class Count>
  __device__ void store(Count* count, Count value) {
    if (threadIdx.x == 0) *count = value;
  }

  // Each operand is asked for by a thread of its own, and kept in shared memory: in registers they would leave too
  // few for what is in flight, and in a thread's own memory every thread would write them.
  template <class Source, class Destination>
  __device__ void reduce(const Reduce& what, Source source, Destination destination, const Reduction& reduction,
                         Stage stage) {
    auto& operands = shared_by_block<Operands, Source>();
    __syncthreads();  // the use before is over
    std::uintptr_t place = 0;
    const unsigned k = threadIdx.x % kMostOperands;
    if (threadIdx.x < what.sources) {
      operands.from[k] = source(k);
      place = reinterpret_cast<std::uintptr_t>(operands.from[k]);
    } else if (threadIdx.x >= kMostOperands && threadIdx.x < kMostOperands + what.destinations) {
      operands.to[k] = destination(k);
      place = reinterpret_cast<std::uintptr_t>(operands.to[k]);
    }
    if (threadIdx.x == 0) {
      operands.sources = what.sources;
      operands.destinations = what.destinations;
    }
    const bool aligned = __syncthreads_and(place % 16 == 0) != 0;
    cuda::reduce(operands, aligned, what.bytes, reduction, stage);
  }

  template <class Message>
  __device__ void send_packets(unsigned count, Message message, PacketUse use) {
    cuda::with_most(count, [&](auto most) { cuda::send_packets<decltype(most)::value>(count, message, use); });
  }
  template <class Message>
  __device__ bool receive_packets(unsigned count, Message message, PacketUse use, Word wait_id) {
    const Patience patience{*this, wait_id};
    const bool arrived = cuda::with_most(count, [&](auto most) {
      return cuda::receive_packets<decltype(most)::value>(count, message, use, patience);
    });
    return __syncthreads_and(arrived) != 0;
  }
  // Threads of one warp poll a packet each: a message of a few packets is one access, also to the host's memory.
  template <class Message>
  __device__ bool await_packets_for(const Packet* packets, Word tag, std::uint64_t ns, Message& message) {
    constexpr unsigned kPackets = sizeof(Message) / kPacketBytes;
    static_assert(sizeof(Message) % kPacketBytes == 0 && kPackets <= kMostAwaited);
    bool arrived = true;
    __syncthreads();  // the message before has been read
    if (threadIdx.x < kPackets) {
      constexpr unsigned kThreads = ~0u >> (kMostAwaited - kPackets);
      const std::uint64_t deadline = cuda::now() + ns;
      Packet got = cuda::poll(packets + threadIdx.x);
      // All of them go round as often as any: each one's clock may say something else.
      while (!(arrived = __all_sync(kThreads, got.tag0 == tag && got.tag1 == tag)) &&
             !__any_sync(kThreads, cuda::now() >= deadline))
        got = cuda::poll(packets + threadIdx.x);
      // No fence: no load begins before its address is known, and copy() and packets read past the caches of an SM.
      if (arrived) reinterpret_cast<Pack<8>*>(&message)[threadIdx.x] = {{got.data0, got.data1}};
    }
    return __syncthreads_and(arrived) != 0;
  }
  template <class Source, class Taker>
  __device__ bool reduce_packets(const PacketReduce& reduce, Source source, Taker taker, PacketUse use, Word wait_id,
                                 const Reduction& reduction, Stage stage) {
    bool arrived = true, fixed = false;
    const Patience patience{*this, wait_id};
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
  /// Returns memory of the block, never initialised: another for each `Use`.
  template <class T, class Use>
  __device__ static T& shared_by_block() {
    __shared__ alignas(16) unsigned char memory[sizeof(T)];
    return *reinterpret_cast<T*>(memory);
  }

  /// Does a thread's wait for its word.
  __device__ bool reach(Word* word, Word value, Word wait_id, int peer) {
    Word seen = cuda::acquire(word);
    if (reached(seen, value)) return true;
    const Patience patience{*this, wait_id};
    // Relaxed: an acquire empties the cache of all blocks of the SM.
    for (unsigned spin = 1; !reached(seen, value); ++spin, seen = cuda::relaxed(word))
      if (spin % Patience::kSpins == 0 && patience(value, seen, peer)) return false;
    cuda::acquire(word);
    return true;
  }
  /// Bounds how long a thread polls. It looks at the clock now and then, and rarely at the abort flag: the flag is in
  /// the host's memory, and tens of thousands of threads that read it at the same time wait for it for up to 2 ms.
  /// Once they did so after every 512 polls: a rank that had waited so long was then late itself, and the next one
  /// had to wait (2 × H200, ranks that start 300 µs apart: an allreduce of 1 MiB took 2200 instead of 11 µs, and so
  /// did all after it).
  struct Patience {
    static constexpr unsigned kSpins = 512;
    static constexpr std::uint64_t kLookNs = 1 << 23;  ///< between looks at the flag: 8 ms, a default
    CudaBlock& block;
    Word wait_id;
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
      // A launch enqueued behind one that gave up need not wait its own time.
      const bool aborted =
          (block.limits_.abort != nullptr && cuda::relaxed(block.limits_.abort) != 0) || block.has_fault();
      if (!aborted && !late) return false;
      block.give_up(aborted, wait_id, expected, seen, peer);
      return true;
    }
  };

  __device__ bool has_fault() const { return limits_.fault != nullptr && cuda::relaxed(&limits_.fault->raised) != 0; }

  __device__ void give_up(bool aborted, Word wait_id, Word expected, Word seen, int peer) {
    if (limits_.fault == nullptr || atomicCAS_system(&limits_.fault->raised, 0u, 2u) != 0) return;
    limits_.fault->aborted = aborted ? 1 : 0;
    limits_.fault->block = blockIdx.x;
    limits_.fault->wait_id = wait_id;
    limits_.fault->expected = expected;
    limits_.fault->seen = seen;
    limits_.fault->sequence = limits_.sequence;
    limits_.fault->peer = static_cast<Word>(peer + 1);
    cuda::release(&limits_.fault->raised, 1);
  }

  Limits limits_;
};

/// Blocks of P that an SM has room for, whatever their threads: two, so that all 256 of a launch run at the same time
/// on a GPU of 128 SMs. A thread then has 64 registers. Those of early programs, which are for small messages, have
/// 128, unless they say kManyBlocks.
template <class P>
constexpr unsigned kBlocksOfAnSm = kIsEarly<P> && !kHasManyBlocks<P> ? 1 : 2;

// Arguments stay where the launch put them: a program that picks a rank's address by number would otherwise have all
// of them copied for each thread.
template <class P>
__global__ void __launch_bounds__(kBlockThreads, kBlocksOfAnSm<P>)
    run_program(const __grid_constant__ P program, const __grid_constant__ Limits limits) {
#if __CUDA_ARCH__ >= 900
  // The two calls stand in this order, so that one launch at most waits behind the one that runs.
  if constexpr (kIsEarly<P>) {
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
  }
#endif
  CudaBlock block(limits);
  program(block);
}

}  // namespace sennit::device
