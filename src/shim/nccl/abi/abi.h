// NCCL 2's C ABI, as far as the drop-in meets it: the numbers and layouts of every nccl.h since 2.19.
#pragma once

#include <cstddef>
#include <cstdint>

struct ncclComm;
struct CUstream_st;

namespace sennit::shim::nccl {

using Comm = ncclComm*;
using Stream = CUstream_st*;

/// ncclWindow_t.
using WindowHandle = void*;

struct UniqueId {
  char bytes[128];
};

// ncclResult_t
inline constexpr int kSuccess = 0, kUnhandledCudaError = 1, kSystemError = 2, kInternalError = 3,
                     kInvalidArgument = 4, kInvalidUsage = 5, kRemoteError = 6, kInProgress = 7;

/// The flag of ncclCommWindowRegister that promises the same offset of buffers in the window on every rank.
inline constexpr int kWindowSymmetric = 1;

#include "nccl_functions.inc"

}  // namespace sennit::shim::nccl
