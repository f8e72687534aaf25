// Erases the type of a block program, so that lanes of every executor can launch it.
//
// The program itself is a plain struct of arguments with
//   template <class Block> SENNIT_DEVICE void operator()(Block& block) const;
// written once against the primitives of device/block.h. Each executor compiles that text for itself.
#pragma once

#include <atomic>
#include <cstddef>

#ifdef __CUDACC__
#define SENNIT_DEVICE __host__ __device__ __forceinline__
#else
#define SENNIT_DEVICE inline
#endif

namespace sennit::device {

class HostBlock;
class TraceBlock;

/// Says how each executor enters one program. Lives for the whole process.
struct Program {
  const char* name;                                         ///< for errors and traces
  std::size_t argument_bytes;                               ///< size of the argument struct, copied at launch
  void (*host)(HostBlock& block, const void* arguments);    ///< runs one block in the calling thread
  void (*trace)(TraceBlock& block, const void* arguments);  ///< writes down what one block would do
  const char* type;    ///< of the argument struct, as typeid names it: by this the cuda executor finds its kernel
  bool early = false;  ///< its blocks may take their places while the launch before still runs: see kIsEarly
  mutable std::atomic<const void*> kernel{nullptr};  ///< the cuda executor's own: what it found
};

/// Programs that say `static constexpr bool kEarly = true`. What small messages take is to a good part the time from
/// the end of one launch to the start of the next; an early program's blocks are there by then, and wait. It still
/// does nothing before all that was enqueued before it is done. `kManyBlocks = true` beside it: two blocks of any
/// size have room in an SM, as those of other programs; launches beyond kMostEarlyThreads are not early.
template <class P>
constexpr bool kIsEarly = requires {
  requires P::kEarly;
};
template <class P>
constexpr bool kHasManyBlocks = requires {
  requires P::kManyBlocks;
};

/// Threads of an early launch for each SM of its device, at most; a larger one starts as others do. A default: with
/// 128 registers a thread, an SM holds four times as many, so that two launches of two communicators each find places
/// at the same time, whatever their order.
inline constexpr unsigned kMostEarlyThreads = 128;

}  // namespace sennit::device
